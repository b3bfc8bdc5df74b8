// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// step does the work of one phase. It returns false if there is nothing more to do for now.
type step func(ctx context.Context, want *wire.Upgrade) (again bool, err error)

// Interrupts of a preparation. An attempt in flight continues regardless.
type Interrupts struct {
	// Withdrawn interrupts it when it is closed. Nil: never.
	Withdrawn <-chan struct{}
	// Newer interrupts it, when it is closed, while it waits for a registry: the host is asked for something else, which may be another digest. Nil: never.
	Newer <-chan struct{}
}

func (i *Interrupts) channels() (withdrawn, newer <-chan struct{}) {
	if i == nil {
		return nil, nil
	}
	return i.Withdrawn, i.Newer
}

// errNewer ends a preparation that waits for a registry.
var errNewer = errors.New("the host is asked for something else")

// Advance carries out the wanted attempt as far as possible: to its end, to where it waits for the trigger, or to the reboot, from which it
// returns only with an error. want is nil if no attempt is wanted. With nil nothing interrupts a preparation.
func (m *Machine) Advance(ctx context.Context, want *wire.Upgrade, by *Interrupts) error {
	withdrawn, newer := by.channels()
	m.newer = newer
	preparing, cancel := untilClosed(ctx, withdrawn)
	defer cancel()
	for {
		again, err := m.once(ctx, preparing, want)
		if errors.Is(err, syscall.EROFS) && want != nil && !m.Marker().InFlight() {
			m.failUnstored(want, err)
			return nil
		}
		if err != nil && preparing.Err() != nil && ctx.Err() == nil && !m.Marker().InFlight() {
			return nil // the preparation was withdrawn
		}
		if err != nil || !again {
			return err
		}
	}
}

func (m *Machine) once(ctx, preparing context.Context, want *wire.Upgrade) (bool, error) {
	marker := m.Marker()
	m.isTriggered = want != nil && want.Apply
	if marker.InFlight() {
		return m.inFlight(marker)(ctx, want)
	}
	if want == nil {
		return m.withdraw(marker)
	}
	if want.Attempt != marker.Attempt {
		return m.begin(want)
	}
	if marker.Finished() {
		return false, nil
	}
	if marker.Phase != wire.PhaseFetched || pinnedElsewhere(marker, want) || !hasPassed(marker, want) {
		return m.prepare(preparing, want)
	}
	if !want.Apply {
		return false, m.waitsFor("")
	}
	return m.trigger(ctx, preparing, want)
}

func (m *Machine) inFlight(marker Marker) step {
	switch marker.Phase {
	case wire.PhaseApplying:
		return m.apply
	case wire.PhaseRebooting:
		return m.reboot
	case PhaseReverting:
		return m.revert
	default:
		return m.assess
	}
}

// withdraw removes an attempt that is no longer wanted. It is not called for one in flight.
func (m *Machine) withdraw(marker Marker) (bool, error) {
	if marker.Attempt == "" {
		return false, nil
	}
	return false, m.forget()
}

// begin starts a new attempt. Downloads of the former one are kept: it may be for the same image. Its first phase is the one in which
// it is prepared: a report of its own, that the attempt is known, would tell nobody more.
func (m *Machine) begin(want *wire.Upgrade) (bool, error) {
	return true, m.save(Marker{Attempt: want.Attempt, Phase: wire.PhaseFetching})
}

// pinnedElsewhere reports whether the rollout was pinned to another digest after this host had resolved the image itself.
func pinnedElsewhere(marker Marker, want *wire.Upgrade) bool {
	return want.Digest != "" && want.Digest != marker.Digest
}

// fail ends the attempt without a reboot.
func (m *Machine) fail(message string) (bool, error) {
	marker := m.Marker()
	marker.Phase, marker.Message = wire.PhaseFailed, message
	return false, m.end(marker)
}

// end stores the final marker of an attempt. The download is removed first, since a finished attempt is not processed again.
func (m *Machine) end(marker Marker) error {
	if err := m.Images.Drop(); err != nil {
		return err
	}
	return m.save(marker)
}

// untilClosed derives a context that also ends when the channel is closed. If the channel is closed already, the context has ended when this
// returns.
func untilClosed(ctx context.Context, closed <-chan struct{}) (context.Context, context.CancelFunc) {
	derived, cancel := context.WithCancel(ctx)
	select {
	case <-closed:
		cancel()
		return derived, cancel
	default:
	}
	go func() {
		select {
		case <-closed:
			cancel()
		case <-derived.Done():
		}
	}()
	return derived, cancel
}

// failUnstored ends an attempt whose state cannot be stored, without storing that: an agent that is restarted begins it again, with the same end.
// A file system that is read-only stays so until it is repaired. Once an attempt is in flight it has to go on instead.
func (m *Machine) failUnstored(want *wire.Upgrade, cause error) {
	marker := m.Marker()
	if marker.Attempt != want.Attempt {
		marker = Marker{Attempt: want.Attempt}
	}
	version, _ := decodeVersion(want) // of one that is not valid nothing is begun
	marker.Phase, marker.ImageURI = wire.PhaseFailed, version.ImageURI
	marker.Message = fmt.Sprintf("the agent cannot write its work directory: %s: repair the persistent partition of the host; the OS was not changed", cause)
	m.Log.Error("The attempt cannot be stored", "attempt", marker.Attempt, "error", cause)
	m.show(marker)
}
