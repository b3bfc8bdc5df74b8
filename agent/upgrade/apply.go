// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// trigger starts the part that cannot be undone, unless the host already runs the wanted OS.
func (m *Machine) trigger(ctx, preparing context.Context, want *wire.Upgrade) (bool, error) {
	facts, err := m.Plugin.Facts(ctx)
	if err != nil {
		return false, err
	}
	if message := appliesElsewhere(facts, want.ApplyIn); message != "" {
		return false, m.waitsFor(message)
	}
	marker := m.Marker()
	if message := m.volatileMarker(facts); message != "" {
		return m.fail(message)
	}
	already, err := m.runsAlready(ctx, facts, marker)
	if err != nil || already {
		return false, m.succeedUnlessError(facts, err)
	}
	wanted := image.Image{URI: marker.ImageURI, Digest: marker.Digest, Bytes: marker.ImageBytes}
	if err := m.download(preparing, wanted); err != nil {
		return m.ended(preparing, err)
	}
	before, err := m.Plugin.Before(preparing, m.Bootstrapped())
	if err != nil {
		return m.ended(preparing, err)
	}
	verdict, err := m.Plugin.BeforeUpgrade(preparing)
	if err != nil || verdict.State != assess.Good {
		return m.refused(preparing, verdict, err)
	}
	if err := m.remember(facts, marker); err != nil {
		return false, err
	}
	marker.Phase, marker.FromBootID, marker.FromSnapshot = wire.PhaseApplying, facts.BootID, facts.Snapshot
	marker.UnitsBefore, marker.Message = before, ""
	marker.record(verdict.Checks)
	return true, m.save(marker)
}

// appliesElsewhere returns a message if the trigger is for another boot than this one, in which the node was drained and may not be any
// more: the host was rebooted since, or the management cluster was restored from a backup. A trigger that names no boot is for any.
func appliesElsewhere(facts osplugin.Facts, in *wire.Boot) string {
	switch {
	case in == nil || *in == wire.Boot{BootID: facts.BootID, Digest: facts.Digest}:
		return ""
	case in.BootID == facts.BootID:
		return fmt.Sprintf("not applied: the trigger is for a host that booted image %q, and this one booted image %q; "+
			"waiting for a trigger for this one", in.Digest, facts.Digest)
	}
	return fmt.Sprintf("not applied: the trigger is for boot %s of image %q, and this is boot %s of image %q; waiting for a trigger for this boot",
		in.BootID, in.Digest, facts.BootID, facts.Digest)
}

// refused ends an attempt that a user's pre-upgrade program refused. Nothing has been changed.
func (m *Machine) refused(preparing context.Context, verdict assess.Verdict, err error) (bool, error) {
	if err != nil {
		return m.ended(preparing, err)
	}
	marker := m.Marker()
	marker.record(verdict.Checks)
	marker.Phase, marker.Message = wire.PhaseFailed, fmt.Sprintf("%s/%s; the OS was not changed", assess.PreUpgradeDir, verdict.Message())
	return false, m.end(marker)
}

func (m *Machine) succeedUnlessError(facts osplugin.Facts, err error) error {
	if err != nil {
		return err
	}
	marker := m.Marker()
	if err := m.remember(facts, marker); err != nil {
		return err
	}
	marker.Phase, marker.Message = wire.PhaseSucceeded, "the host already runs this OS"
	return m.end(marker)
}

// runsAlready ignores failed units: without a state from before the upgrade there is nothing to compare them with, and writing the same
// image again would not repair them. An OS that runs as the fallback becomes the default.
func (m *Machine) runsAlready(ctx context.Context, facts osplugin.Facts, marker Marker) (bool, error) {
	if facts.Digest != marker.Digest || facts.Mode != osplugin.ModeActive && facts.Mode != osplugin.ModePassive || m.lacksRecovery(facts) {
		return false, nil
	}
	question := assess.Question{Bootstrapped: m.Bootstrapped(), IgnoreUnits: true}
	verdict, err := m.settle(ctx, question, marker, m.Clock.Uptime()+m.Policy.AssessTimeout, "")
	if err != nil || verdict.State != assess.Good {
		return false, err
	}
	if facts.Mode == osplugin.ModePassive {
		return true, m.Plugin.BootAlways(ctx, facts.Snapshot, 0)
	}
	return true, nil
}

// lacksRecovery reports whether the recovery system is wanted, too, and not known to be of the wanted image. It is written together with a snapshot,
// also of an image that runs: nothing else verifies what is written.
func (m *Machine) lacksRecovery(facts osplugin.Facts) bool {
	marker := m.Marker()
	return marker.UpgradeRecovery && facts.RecoveryDigest != marker.Digest
}

// remember stores the URIs of the images that can be booted from now on.
func (m *Machine) remember(facts osplugin.Facts, marker Marker) error {
	return m.know(func(known *Known) {
		maps.DeleteFunc(known.Images, func(digest, _ string) bool { return digest != facts.Digest })
		known.Images[marker.Digest] = marker.ImageURI
	})
}

// apply writes the image. A restarted agent continues here, in this boot or another. After a failure it waits, since the cause may be
// temporary.
func (m *Machine) apply(ctx context.Context, _ *wire.Upgrade) (bool, error) {
	before := m.Marker().Failures
	again, err := m.alone(ctx, func() (bool, error) { return m.applyAlone(ctx) })
	after := m.Marker().Failures
	if err == nil && after > before && after < m.Policy.MaxFailures {
		err = system.Wait(ctx, m.Clock, m.Policy.Act.Delay(after))
	}
	return again, err
}

func (m *Machine) applyAlone(ctx context.Context) (bool, error) {
	marker := m.Marker()
	facts, err := m.Plugin.Facts(ctx)
	if err != nil {
		return false, err
	}
	if bootedUnverified(facts, marker) {
		return m.abandon(ctx, facts, errUnfinished)
	}
	if err := m.removeAbandoned(ctx, facts); err != nil {
		return false, err
	}
	marker = m.Marker()
	if marker.Failures >= m.Policy.MaxFailures {
		return m.giveUp(ctx, facts, marker)
	}
	written, err := m.Plugin.Written(ctx, marker.Attempt, marker.Digest)
	if err != nil {
		return false, err
	}
	if written != 0 {
		return m.verify(ctx, facts, written)
	}
	if marker.Starts >= m.Policy.MaxStarts {
		return m.giveUp(ctx, facts, marker)
	}
	marker.Starts++
	marker.FromBootID, marker.FromSnapshot = facts.BootID, facts.Snapshot
	if err := m.save(marker); err != nil {
		return false, err
	}
	if done, err := m.clean(ctx, facts); err != nil || !done {
		return false, err
	}
	return m.write(ctx, facts)
}

// verify verifies a snapshot on the disk before it is booted. If it is corrupt but was booted meanwhile, because somebody rebooted the host
// or power was lost, the host reverts to the former OS. If that cannot be determined it is tried again, and in the end the snapshot is not
// booted, or is reverted from.
func (m *Machine) verify(ctx context.Context, facts osplugin.Facts, written int32) (bool, error) {
	cause := m.compare(ctx, written)
	switch {
	case cause == nil || ctx.Err() != nil:
		return m.appliedUnless(ctx.Err(), facts, written)
	case facts.Snapshot == written && (errors.Is(cause, osplugin.ErrCorrupt) || m.Marker().Failures+1 >= m.Policy.MaxFailures):
		return m.abandon(ctx, facts, cause)
	case errors.Is(cause, osplugin.ErrCorrupt):
		return m.failedToWrite(ctx, m.discardCorrupt(ctx, written, cause))
	}
	return m.failedToWrite(ctx, cause)
}

// compare compares a snapshot with its expected content.
func (m *Machine) compare(ctx context.Context, written int32) error {
	var done, total atomic.Int64
	read := func(context.Context) func(context.Context) (int64, int64) {
		return func(context.Context) (int64, int64) { return done.Load(), total.Load() }
	}
	downloaded, err := m.Images.FileList(ctx, m.Marker().Digest)
	if err != nil {
		downloaded = "" // the cache may be lost, or the disk may be full
		m.Log.Warn("Cannot compare the snapshot with the downloaded files, only with the unpacked ones", "snapshot", written, "error", err)
	}
	return m.counted(ctx, wire.StageVerify, read, func() error {
		return m.Plugin.VerifySnapshot(ctx, osplugin.Verification{
			Snapshot: written, Downloaded: downloaded,
			Read: func(bytes, of int64) { done.Store(bytes); total.Store(of) },
		})
	})
}

// discardCorrupt removes a corrupt snapshot, and returns why it is corrupt, and why it could not be removed.
func (m *Machine) discardCorrupt(ctx context.Context, written int32, cause error) error {
	if err := m.Plugin.Discard(ctx, written); err != nil {
		return fmt.Errorf("%w; removing it failed: %w", cause, err)
	}
	return cause
}

func (m *Machine) appliedUnless(err error, facts osplugin.Facts, written int32) (bool, error) {
	if err != nil {
		return false, err
	}
	return m.applied(facts, m.Marker(), written)
}

// applied continues with the assessment if somebody's reboot has already booted the snapshot, otherwise with the reboot.
func (m *Machine) applied(facts osplugin.Facts, marker Marker, written int32) (bool, error) {
	marker.WantedSnapshot, marker.Message = written, ""
	marker.Phase = wire.PhaseRebooting
	if facts.Snapshot == written {
		marker.Phase = wire.PhaseAssessing
	} else {
		marker.FromBootID = facts.BootID
	}
	return true, m.save(marker)
}

func (m *Machine) write(ctx context.Context, facts osplugin.Facts) (bool, error) {
	marker := m.Marker()
	wanted := image.Image{URI: marker.ImageURI, Digest: marker.Digest, Bytes: marker.ImageBytes}
	// Usually everything is downloaded; the cache may have been lost with its disk.
	if err := m.fetch(ctx, wanted); err != nil {
		return m.failedToWrite(ctx, err)
	}
	// Space may have been used since the preparation, and the CLI does not notice a full disk.
	message, err := m.shortOfSpace(ctx)
	var terminal *image.Terminal
	if message != "" && err == nil || errors.As(err, &terminal) {
		m.keepBooted(ctx, facts, 0) // an earlier try may have changed the next boot
	}
	if err != nil || message != "" {
		return m.endedBy(message, err)
	}
	if err := m.Plugin.MakeRoom(ctx, m.Marker().needed()); err != nil {
		return false, fmt.Errorf("making room for the image: %w", err)
	}
	reference, stop, err := m.Images.Serve(marker.Digest)
	if err != nil {
		return false, err
	}
	defer stop()
	output, err := m.run(ctx, reference)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err := m.noteWarnings(output.Warnings); err != nil {
		return false, err
	}
	return m.judgeWrite(ctx, output, err)
}

func (m *Machine) run(ctx context.Context, reference string) (output osplugin.Output, err error) {
	marker := m.Marker()
	err = m.counted(ctx, wire.StageWrite, m.written, func() (err error) {
		output, err = m.Plugin.Upgrade(ctx, osplugin.Upgrade{Attempt: marker.Attempt, Image: reference, Version: versionOf(marker)})
		return err
	})
	debug.FreeOSMemory()
	return output, err
}

// noteWarnings keeps the warnings of the last try until the attempt ends, which may be in another boot.
func (m *Machine) noteWarnings(warnings []string) error {
	marker := m.Marker()
	if slices.Equal(marker.Warnings, warnings) {
		return nil
	}
	m.Log.Warn("Writing the image succeeded with warnings", "attempt", marker.Attempt, "warnings", warnings)
	marker.Warnings = warnings
	return m.save(marker)
}

// judgeWrite determines from the disk whether the image was written. The CLI's error only explains why it was not.
func (m *Machine) judgeWrite(ctx context.Context, output osplugin.Output, cause error) (bool, error) {
	marker := m.Marker()
	written, err := m.Plugin.Written(ctx, marker.Attempt, marker.Digest)
	if err != nil {
		return false, err
	}
	if written != 0 && errors.Is(cause, osplugin.ErrCorrupt) {
		return m.failedToWrite(ctx, m.discardCorrupt(ctx, written, cause))
	}
	if written != 0 {
		if cause != nil {
			m.Log.Warn("The upgrade command failed but wrote the image", "attempt", marker.Attempt, "error", cause)
		}
		return true, nil
	}
	if cause == nil {
		cause = errNotWritten(output)
	}
	return m.failedToWrite(ctx, cause)
}

// errNotWritten is for a command that claims to have written the image. It has written it elsewhere, or only a part of it.
func errNotWritten(output osplugin.Output) error {
	text := "the command ended with exit code 0 but wrote no usable snapshot; is the state partition full?"
	if output.End != "" {
		text += " Its last output: " + output.End
	}
	return errors.New(text)
}

func (m *Machine) failedToWrite(ctx context.Context, cause error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return true, m.saveFailure(m.Marker(), cause)
}

func (m *Machine) saveFailure(marker Marker, cause error) error {
	marker.Failures++
	marker.Message = fmt.Sprintf("writing the image failed (%d of %d): %s", marker.Failures, m.Policy.MaxFailures, cause)
	m.Log.Error("Writing the image failed", "attempt", marker.Attempt, "failures", marker.Failures, "error", cause)
	return m.save(marker)
}

// giveUp restores the state before the attempt: the leftovers are removed, and the booted snapshot is the default. A snapshot that was
// written, but could not be verified, is not even a fallback.
func (m *Machine) giveUp(ctx context.Context, facts osplugin.Facts, marker Marker) (bool, error) {
	written, err := m.Plugin.Written(ctx, marker.Attempt, marker.Digest)
	if err != nil {
		return false, err
	}
	if done, err := m.clean(ctx, facts); err != nil || !done {
		return false, err
	}
	m.keepBooted(ctx, facts, written)
	if written != 0 && written != facts.Snapshot {
		m.discard(ctx, written)
	}
	if marker.Message == "" {
		marker.Message = fmt.Sprintf("writing the image was interrupted %d times", marker.Starts)
	}
	return m.fail(marker.warned(marker.Message))
}

// versionOf returns the OS version as it was requested when the attempt was prepared. By now the attempt may be withdrawn, or the API may be
// unreachable.
func versionOf(marker Marker) wire.OSVersion {
	return wire.OSVersion{ImageURI: marker.ImageURI, UpgradeRecovery: marker.UpgradeRecovery, Debug: marker.Debug}
}
