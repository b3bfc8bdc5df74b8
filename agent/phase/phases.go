// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/report"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// maxAddresses that are reported.
const maxAddresses = 8

// API is the part of the Elemental API that the phases use.
type API interface {
	Bootstrap(ctx context.Context) (wire.Bootstrap, error)
	ResetOptions(ctx context.Context) (wire.Reset, error)
}

// Options of Phases.
type Options struct {
	Plugin  osplugin.Plugin
	API     API
	Board   *report.Board
	Host    *system.Host
	Log     *slog.Logger
	WorkDir string
	// Name of the host.
	Name string
	// Key is the host's public key.
	Key string
	// Machine for upgrades.
	Machine *upgrade.Machine
	// Marks of the bootstrap.
	Bootstrap *BootstrapMark
	// Volatile returns why the work directory would be lost with the next reboot, in that boot mode; empty if it would not.
	Volatile func(mode string) string
}

// Phases acts on desired states.
type Phases struct {
	Options
	// refused counts how often the API refused the reset configuration.
	refused int
	// failure is the error of the last Act; empty if it had none.
	failure string
}

// New returns the phases.
func New(options Options) *Phases { return &Phases{Options: options} }

// request is one call of Act.
type request struct {
	desired wire.Desired
	facts   osplugin.Facts
	// unknown is why facts about the boot are incomplete.
	unknown   error
	newer     <-chan struct{}
	withdrawn <-chan struct{}
}

// state handles its part of the desired state and returns whether the next one may run.
type state func(ctx context.Context, request request) (next bool, err error)

// Act reconciles the host with the desired state as far as currently possible.
func (p *Phases) Act(ctx context.Context, desired wire.Desired, newer, withdrawn <-chan struct{}) error {
	facts, err := p.Observe(ctx)
	request := request{desired: desired, facts: facts, unknown: err, newer: newer, withdrawn: withdrawn}
	for _, state := range []state{p.reset, p.unapproved, p.observed, p.upgrade, p.bootstrap} {
		next, err := state(ctx, request)
		if err != nil || !next {
			return err
		}
	}
	p.say(wire.HostRunning, "")
	return nil
}

// Resume continues an upgrade in progress, and does nothing else: everything else depends on the desired
// state.
func (p *Phases) Resume(ctx context.Context) error {
	if !p.Machine.Marker().InFlight() {
		return nil
	}
	if _, err := p.Observe(ctx); err != nil {
		return err
	}
	p.say(wire.HostReconcilingOSVersion, "")
	if err := p.Machine.Advance(ctx, nil, nil); err != nil {
		return err
	}
	_, err := p.Observe(ctx)
	return err
}

// observed: while the booted OS cannot be determined nothing is written to a disk, and the host is not bootstrapped. It can
// still be reset.
func (p *Phases) observed(_ context.Context, request request) (bool, error) {
	return request.unknown == nil, request.unknown
}

// Observe adds the booted OS to the report, as far as it can be determined.
func (p *Phases) Observe(ctx context.Context) (osplugin.Facts, error) {
	facts, err := p.Plugin.Facts(ctx)
	if err != nil {
		err = fmt.Errorf("observing the booted OS: %w", err)
	} else {
		err = p.noticeBootstrap(ctx)
	}
	uri := p.Machine.ImageURI(facts.Digest)
	if uri == "" {
		uri = facts.Source
	}
	p.Board.Update(func(report *wire.Report) {
		report.Installed = p.Plugin.Installed()
		report.Bootstrapped = p.Bootstrap.Done()
		report.VolatileWorkDir = p.Volatile(facts.Mode)
		report.OS = wire.OS{
			ImageURI: uri, Digest: facts.Digest, Snapshot: facts.Snapshot, BootMode: facts.Mode, BootID: facts.BootID,
			Version: facts.Version, FreeBytes: p.Machine.FreeBytes(),
		}
	})
	p.Refresh()
	return facts, err
}

// Refresh updates the addresses in the report. If interfaces cannot be listed the report is not changed.
func (p *Phases) Refresh() {
	listed, err := p.Host.Addresses()
	if err != nil {
		p.Log.Warn("Listing the host's addresses failed", "error", err)
		return
	}
	addresses := []wire.Address{{Type: "Hostname", Address: p.Name}}
	for _, address := range listed[:min(len(listed), maxAddresses-1)] {
		addresses = append(addresses, wire.Address{Type: "InternalIP", Address: address})
	}
	p.Board.Update(func(report *wire.Report) { report.Addresses = addresses })
}

// Failed adds an error to the report. It stays there while the same is tried again: otherwise each try would be reported, twice.
func (p *Phases) Failed(err error) {
	former := p.failure
	p.failure = ""
	if err != nil {
		p.failure = err.Error()
	}
	p.Board.Update(func(report *wire.Report) {
		if err != nil || former != "" && report.Message == former {
			report.Message = p.failure
		}
	})
}

// say adds the current phase of the agent to the report.
func (p *Phases) say(phase, message string) {
	p.Board.Update(func(report *wire.Report) { report.Phase, report.Message = phase, cmp.Or(message, p.failure) })
}

// unapproved: a host that is not approved only completes an upgrade that is in flight, and is wiped on request, which is how an operator
// removes a host that is no longer trusted.
func (p *Phases) unapproved(ctx context.Context, request request) (bool, error) {
	if request.desired.Approved {
		return true, nil
	}
	if p.Machine.Marker().InFlight() {
		return false, p.Machine.Advance(ctx, nil, &upgrade.Interrupts{Withdrawn: request.withdrawn})
	}
	p.say(wire.HostFinalizingRegistration, "")
	return false, request.unknown
}

func (p *Phases) mark(name string) string { return filepath.Join(p.WorkDir, name) }
