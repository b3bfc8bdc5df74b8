// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// bootstrapInterval is how often a running bootstrap is checked.
	bootstrapInterval = 2 * time.Second
	// bootstrapPatience is how long a running bootstrap may take before it is reported as overdue.
	bootstrapPatience = 15 * time.Minute
	// askTimeout bounds the question whether it has failed.
	askTimeout = 5 * time.Second
	// flushTimeout bounds the report before a reboot.
	flushTimeout = 5 * time.Second
)

// bootstrap applies the bootstrap data, once between two resets.
func (p *Phases) bootstrap(ctx context.Context, request request) (bool, error) {
	if p.Bootstrap.Done() {
		return true, nil
	}
	mark := p.Bootstrap.get()
	if mark.Phase == bootstrapPlaced && mark.BootID != request.facts.BootID {
		return p.awaitBootstrap(ctx, request)
	}
	if !request.desired.Bootstrap {
		return true, nil
	}
	p.say(wire.HostBootstrapping, "")
	if mark.Phase != bootstrapPlaced {
		placed, err := p.placeBootstrap(ctx, request.facts)
		if err != nil || !placed {
			return false, err
		}
	}
	p.flush(ctx)
	p.Log.Info("Rebooting into the bootstrap")
	return false, p.Plugin.Reboot(ctx)
}

// placeBootstrap writes the mark twice: before, with the present boot, and after. If it is interrupted in between, it is repeated, since the
// data has not been applied yet.
func (p *Phases) placeBootstrap(ctx context.Context, facts osplugin.Facts) (bool, error) {
	data, err := p.API.Bootstrap(ctx)
	if errors.Is(err, client.ErrNotFound) {
		return false, errors.New("waiting for bootstrap data")
	}
	if err != nil {
		return false, err
	}
	if err := p.Bootstrap.set(bootstrapMark{Phase: bootstrapPlacing, BootID: facts.BootID}); err != nil {
		return false, err
	}
	err = p.Plugin.Bootstrap(ctx, data)
	if errors.Is(err, osplugin.ErrUnsupported) {
		// Retry: corrected data does not change the desired state, so that no new one arrives.
		p.say(wire.HostBootstrapping, err.Error())
	}
	if err != nil {
		return false, err
	}
	return true, p.Bootstrap.set(bootstrapMark{Phase: bootstrapPlaced, BootID: facts.BootID})
}

// awaitBootstrap waits in the boot that applies the bootstrap data.
func (p *Phases) awaitBootstrap(ctx context.Context, request request) (bool, error) {
	late, isLate := p.Host.Clock.After(bootstrapPatience), false
	p.failure = "" // what failed before this is resolved, and it may last
	for {
		failed := p.failedBootstrap(ctx)
		if err := p.noticeBootstrap(ctx); err != nil {
			return false, err
		}
		if p.Bootstrap.Done() {
			_, err := p.Observe(ctx)
			return true, err
		}
		p.say(wire.HostBootstrapping, bootstrapMessage(failed, isLate))
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-request.newer:
			return false, nil
		case <-late:
			isLate = true
		case <-p.Host.Clock.After(bootstrapInterval):
		}
	}
}

// failedBootstrap is the unit that has failed while it applied the data. What cannot be determined has not failed: bootstrapPatience still ends.
func (p *Phases) failedBootstrap(ctx context.Context) string {
	bounded, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	unit, err := p.Plugin.BootstrapFailure(bounded)
	if err != nil {
		p.Log.Debug("Cannot determine whether the bootstrap has failed", "error", err)
	}
	return unit
}

// bootstrapMessage is empty as long as nothing is wrong.
func bootstrapMessage(failed string, isLate bool) string {
	switch {
	case failed != "":
		return fmt.Sprintf("the bootstrap failed: see the journal of %s on the host, and delete the Machine to start over", failed)
	case isLate:
		return fmt.Sprintf("the bootstrap has not succeeded in %s: see the journal of the host", bootstrapPatience)
	default:
		return ""
	}
}

// noticeBootstrap stores the success of a bootstrap. The sentinel is lost in a reboot, but the configuration, which removes itself only
// after success, is then gone as well.
func (p *Phases) noticeBootstrap(ctx context.Context) error {
	if p.Bootstrap.Done() {
		return nil
	}
	state, err := p.Plugin.BootstrapState(ctx)
	if err != nil {
		return fmt.Errorf("observing the bootstrap: %w", err)
	}
	applied := state.Applied
	if mark := p.Bootstrap.get(); !applied && mark.Phase == bootstrapPlaced && !state.Placed {
		applied = true
	}
	if !applied {
		return nil
	}
	p.Log.Info("The host is bootstrapped")
	return p.Bootstrap.set(bootstrapMark{Phase: bootstrapDone})
}

func (p *Phases) flush(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	p.Board.Flush(bounded)
}
