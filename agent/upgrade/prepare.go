// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// osVersionKey and prefetchNone are spelled as in api/v1beta1.
	osVersionKey = "osVersion"
	prefetchNone = "None"
)

// prepare resolves the image, verifies its signature and, unless that is not wanted, downloads it.
func (m *Machine) prepare(ctx context.Context, want *wire.Upgrade) (bool, error) {
	version, err := decodeVersion(want)
	if err != nil {
		return m.fail(err.Error())
	}
	facts, err := m.Plugin.Facts(ctx)
	if err != nil {
		return false, err
	}
	if message := m.volatileMarker(facts); message != "" {
		return m.fail(message)
	}
	marker := m.Marker()
	marker.Phase, marker.ImageURI = wire.PhaseFetching, version.ImageURI
	marker.UpgradeRecovery, marker.Debug = version.UpgradeRecovery, version.Debug
	if err := m.save(marker); err != nil {
		return false, err
	}
	resolved, err := m.verified(ctx, want, version.ImageURI)
	if err != nil {
		return m.ended(ctx, err)
	}
	if message, err := m.checkSpace(ctx, &marker, resolved); err != nil || message != "" {
		return m.lacksSpace(message, err)
	}
	downloaded, err := m.prefetch(ctx, want, resolved)
	if err != nil {
		return m.ended(ctx, err)
	}
	if message, err := m.checkDownload(ctx, downloaded); err != nil || message != "" {
		return m.lacksSpace(message, err)
	}
	marker = m.Marker()
	marker.Phase, marker.Digest, marker.ImageBytes, marker.Message = wire.PhaseFetched, resolved.Digest, resolved.Bytes, ""
	marker.Verification = verificationOf(want)
	return true, m.save(marker)
}

// verified resolves the image, and verifies its signature.
func (m *Machine) verified(ctx context.Context, want *wire.Upgrade, uri string) (image.Image, error) {
	resolved, err := m.resolve(ctx, uri, want.Digest)
	if err != nil {
		return resolved, err
	}
	return resolved, m.persist(ctx, func() error { return m.Images.Verify(ctx, resolved, want.ImageVerification) })
}

// checkDownload returns a message if the downloaded image is too large for the host once it is unpacked.
func (m *Machine) checkDownload(ctx context.Context, downloaded bool) (message string, err error) {
	if !downloaded {
		return "", nil
	}
	return m.shortOfSpace(ctx)
}

// volatileMarker returns a message if the marker would be lost in the reboot: nothing would then assess the boot, or revert it.
func (m *Machine) volatileMarker(facts osplugin.Facts) string {
	reason := m.Volatile(facts.Mode)
	if reason == "" {
		return ""
	}
	return "the state of this upgrade would be lost in the reboot: " + reason + "; the OS was not changed"
}

// verificationOf identifies the rules and the trusted root that the image has to pass, by their content.
func verificationOf(want *wire.Upgrade) string {
	if want.ImageVerification == nil {
		return ""
	}
	rules := *want.ImageVerification
	rules.TrustedRoot, rules.TrustedRootError = nil, ""
	encoded, _ := json.Marshal(rules) // strings alone
	return sumOf(encoded) + rootSeparator + sumOf(want.ImageVerification.TrustedRoot)
}

// rootSeparator separates the two hashes.
const rootSeparator = "/"

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// hasPassed reports whether the image has passed the current rules and root; otherwise it is verified again. If the root has become
// unavailable, an image that has passed it stays valid: a node that has been drained must not wait for the root.
func hasPassed(marker Marker, want *wire.Upgrade) bool {
	asked := verificationOf(want)
	if want.ImageVerification == nil || want.ImageVerification.TrustedRootError == "" {
		return marker.Verification == asked
	}
	rules, _, _ := strings.Cut(asked, rootSeparator)
	passed, _, _ := strings.Cut(marker.Verification, rootSeparator)
	return rules == passed
}

func decodeVersion(want *wire.Upgrade) (wire.OSVersion, error) {
	version := wire.OSVersion{}
	raw, found := want.OSVersionManagement[osVersionKey]
	if !found {
		return version, errors.New("osVersionManagement.osVersion is missing: set osVersion.imageURI")
	}
	fields := map[string]json.RawMessage{}
	err := json.Unmarshal(raw, &fields)
	// Decoded into a struct, any spelling of a key would count, and the last one of several: it could be another image than
	// the one that the manager has checked.
	for key, value := range map[string]any{
		"imageUri": &version.ImageURI, "upgradeRecovery": &version.UpgradeRecovery, "debug": &version.Debug,
	} {
		if raw, found := fields[key]; found {
			err = errors.Join(err, json.Unmarshal(raw, value))
		}
	}
	if err != nil {
		return wire.OSVersion{}, errors.New("osVersionManagement.osVersion is not an object with the fields imageURI (string), " +
			"upgradeRecovery and debug (booleans)")
	}
	return version, nil
}

func (m *Machine) resolve(ctx context.Context, uri, digest string) (image.Image, error) {
	var resolved image.Image
	err := m.persist(ctx, func() (err error) {
		resolved, err = m.Images.Resolve(ctx, uri, digest)
		return err
	})
	return resolved, err
}

// checkSpace measures and stores the free space. The message is why it is not enough.
func (m *Machine) checkSpace(ctx context.Context, marker *Marker, resolved image.Image) (string, error) {
	space, err := m.Plugin.Space(ctx)
	if err != nil {
		return "", fmt.Errorf("measuring free space: %w", err)
	}
	marker.FreeBytes = space.State / mebibyte * mebibyte
	if err := m.know(func(known *Known) { known.FreeBytes = marker.FreeBytes }); err != nil {
		return "", err
	}
	if marker.Digest != resolved.Digest {
		marker.UnpackedBytes = 0
	}
	marker.Digest, marker.ImageBytes = resolved.Digest, resolved.Bytes
	if err := m.save(*marker); err != nil {
		return "", err
	}
	if message := short(space.State, *marker); message != "" {
		return message, nil
	}
	if space.Work < resolved.Bytes-m.Images.Downloaded(resolved.Digest) {
		return fmt.Sprintf("not enough space to download image %s: it has %d MiB, %d MiB are free in the agent's work directory",
			resolved.Digest, roundUp(resolved.Bytes), space.Work/mebibyte), nil
	}
	message, err := m.shortOnRecovery(ctx, *marker)
	if err != nil || message != "" {
		return message, err
	}
	return "", m.waitsFor("") // what it waited for before is there
}

// prefetch reports whether it downloaded the image.
func (m *Machine) prefetch(ctx context.Context, want *wire.Upgrade, resolved image.Image) (bool, error) {
	facts, err := m.Plugin.Facts(ctx)
	if err != nil {
		return false, err
	}
	if want.Prefetch == prefetchNone || facts.Digest == resolved.Digest && !m.lacksRecovery(facts) {
		return false, m.Images.Drop()
	}
	return true, m.download(ctx, resolved)
}

func (m *Machine) download(ctx context.Context, resolved image.Image) error {
	if err := m.Images.Drop(resolved.Digest); err != nil {
		return err
	}
	err := m.fetch(ctx, resolved)
	// The agent then idles for weeks: return the memory of the download at once.
	debug.FreeOSMemory()
	return err
}

func (m *Machine) fetch(ctx context.Context, wanted image.Image) error {
	arrived := func(context.Context) func(context.Context) (int64, int64) {
		return func(context.Context) (int64, int64) { return m.Images.Downloaded(wanted.Digest), wanted.Bytes }
	}
	return m.counted(ctx, wire.StageDownload, arrived, func() error {
		return m.persist(ctx, func() error { return m.Images.Download(ctx, wanted) })
	})
}

// persist repeats requests to a registry until they succeed, fail permanently, or fail too often. Before the trigger, and on a host that is not a
// node yet, it never gives up, since nothing is out of service meanwhile; it only reports what it waits for.
func (m *Machine) persist(ctx context.Context, action func() error) error {
	for failures := 1; ; failures++ {
		err := action()
		var terminal *image.Terminal
		if err == nil && failures > 1 && !m.Marker().InFlight() {
			return m.waitsFor("")
		}
		if err == nil || errors.As(err, &terminal) || ctx.Err() != nil {
			return err
		}
		if err := m.failedRequest(err, failures); err != nil {
			return err
		}
		m.Log.Warn("Registry request failed, trying again", "error", err, "cause", errors.Unwrap(err), "failures", failures)
		if err := m.waitToRetry(ctx, m.Policy.Registry.DelayAfter(err, failures)); err != nil {
			return err
		}
	}
}

// waitToRetry waits before the next request to a registry.
func (m *Machine) waitToRetry(ctx context.Context, delay time.Duration) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if !m.isTriggered && !m.Marker().InFlight() {
		waiting, cancel = untilClosed(ctx, m.newer)
	}
	defer cancel()
	err := system.Wait(waiting, m.Clock, delay)
	if err != nil && ctx.Err() == nil {
		return errNewer
	}
	return err
}

// failedRequest returns an error when a registry is given up, and reports what is waited for otherwise.
func (m *Machine) failedRequest(cause error, failures int) error {
	isExhausted := m.Policy.Registry.Exhausted(failures)
	switch {
	case isExhausted && m.Bootstrapped() && m.isTriggered:
		return &image.Terminal{Message: fmt.Sprintf("%s; gave up after %d tries", cause, failures)}
	case isExhausted || failures >= toldFailures && !m.Marker().InFlight():
		return m.waitsFor(cause.Error())
	}
	return nil
}

// toldFailures is the number of failed requests to a registry after which an attempt reports what it waits for.
const toldFailures = 3

// waitsFor reports why a preparation does not continue.
func (m *Machine) waitsFor(message string) error {
	marker := m.Marker()
	if marker.Message == message {
		return nil
	}
	marker.Message = message
	return m.save(marker)
}

// ended handles an error of the preparation: the attempt was withdrawn, has failed, or has to be retried.
func (m *Machine) ended(ctx context.Context, err error) (bool, error) {
	var terminal *image.Terminal
	if errors.As(err, &terminal) {
		return m.fail(terminal.Message)
	}
	if ctx.Err() != nil || errors.Is(err, errNewer) {
		return false, nil
	}
	return false, err
}

// lacksSpace handles want of space. Before the trigger the attempt waits for it, since its node serves meanwhile; the next call looks again.
func (m *Machine) lacksSpace(message string, err error) (bool, error) {
	if err != nil || m.isTriggered {
		return m.endedBy(message, err)
	}
	if err := m.waitsFor(message); err != nil {
		return false, err
	}
	return false, errors.New(message)
}

func (m *Machine) endedBy(message string, err error) (bool, error) {
	var terminal *image.Terminal
	if err != nil && !errors.As(err, &terminal) {
		return false, err
	}
	if err != nil {
		message = terminal.Message
	}
	return m.fail(message)
}
