// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
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

// API is what the phases need of the Elemental API.
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
	// Volatile says why what is kept in the work directory is lost with the next reboot, in that boot mode; empty where it is not.
	Volatile func(mode string) string
}

// Phases acts on desired states.
type Phases struct {
	Options
	// refused counts how often the API did not say how to reset the host.
	refused int
}

// New returns the phases.
func New(options Options) *Phases { return &Phases{Options: options} }

// request is one call of Act.
type request struct {
	desired wire.Desired
	facts   osplugin.Facts
	// unknown is why facts are not all that there is to know of the boot.
	unknown   error
	newer     <-chan struct{}
	withdrawn <-chan struct{}
}

// state does its part of what is desired and says whether the next one is to be looked at.
type state func(ctx context.Context, request request) (next bool, err error)

// Act does what is desired as far as that goes.
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

// Resume goes on with an upgrade that is in flight, and does nothing else: all else depends on what is
// desired.
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

// observed: nothing is written to a disk, and nothing bootstrapped, as long as it cannot be told what runs. A host can be
// reset all the same.
func (p *Phases) observed(_ context.Context, request request) (bool, error) {
	return request.unknown == nil, request.unknown
}

// Observe puts what is booted into the report, as far as it can be told.
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

// Refresh puts the present addresses into the report. Interfaces that cannot be listed leave it as it
// is.
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

// Failed puts what went wrong into the report.
func (p *Phases) Failed(err error) {
	if err == nil {
		return
	}
	p.Board.Update(func(report *wire.Report) { report.Message = err.Error() })
}

// say puts what the agent is doing into the report.
func (p *Phases) say(phase, message string) {
	p.Board.Update(func(report *wire.Report) { report.Phase, report.Message = phase, message })
}

// unapproved: nothing is done to a host that nobody vouches for, except to end what was begun when
// somebody did, and to wipe it, which is how an operator gets rid of a host that is not trusted any more.
func (p *Phases) unapproved(ctx context.Context, request request) (bool, error) {
	if request.desired.Approved {
		return true, nil
	}
	if p.Machine.Marker().InFlight() {
		return false, p.Machine.Advance(ctx, nil, request.withdrawn)
	}
	p.say(wire.HostFinalizingRegistration, "")
	return false, request.unknown
}

func (p *Phases) mark(name string) string { return filepath.Join(p.WorkDir, name) }
