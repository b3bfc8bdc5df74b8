// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"context"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// upgrade delays the bootstrap until the desired OS runs.
func (p *Phases) upgrade(ctx context.Context, request request) (bool, error) {
	want := request.desired.Upgrade
	if !p.mayUpgrade(request.facts) {
		p.say(wire.HostRunning, "the host booted its "+request.facts.Mode+" system; it is not upgraded there")
		return false, nil
	}
	if p.carriesOut(want) {
		p.say(wire.HostReconcilingOSVersion, "")
	}
	if err := p.Machine.Advance(ctx, want, &upgrade.Interrupts{Withdrawn: request.withdrawn, Newer: request.newer}); err != nil {
		return false, err
	}
	// The attempt may have found out something about the host.
	if _, err := p.Observe(ctx); err != nil {
		return false, err
	}
	if want == nil || p.Bootstrap.Done() || p.succeeded(want) {
		return true, nil
	}
	p.say(wire.HostRunning, "")
	if request.desired.Bootstrap {
		p.say(wire.HostRunning, "waiting for the OS upgrade before the bootstrap")
	}
	return false, nil
}

// carriesOut reports whether Advance will do more than prepare.
func (p *Phases) carriesOut(want *wire.Upgrade) bool {
	return p.Machine.Marker().InFlight() || (want != nil && want.Apply && !p.finished(want))
}

// mayUpgrade: the recovery system only completes an upgrade in progress.
func (p *Phases) mayUpgrade(facts osplugin.Facts) bool {
	return facts.Mode != osplugin.ModeRecovery || p.Machine.Marker().InFlight()
}

func (p *Phases) finished(want *wire.Upgrade) bool {
	marker := p.Machine.Marker()
	return marker.Attempt == want.Attempt && marker.Finished()
}

func (p *Phases) succeeded(want *wire.Upgrade) bool {
	marker := p.Machine.Marker()
	return marker.Attempt == want.Attempt && marker.Phase == wire.PhaseSucceeded
}
