// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package dummy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	stateFile  = "dummy-os.json"
	resetDir   = "reset"
	freeBytes  = 8 << 30
	unhealthy  = "unhealthy"
	unbootable = "unbootable"
)

// disk is the content of dummy-os.json.
type disk struct {
	BootID    string             `json:"bootID"`
	Booted    int32              `json:"booted"`
	Mode      string             `json:"mode"`
	Default   int32              `json:"default"`
	Newest    int32              `json:"newest"`
	Snapshots map[int32]snapshot `json:"snapshots"`
	// Bootstrap is "", "placed" or "applied".
	Bootstrap string `json:"bootstrap,omitempty"`
	// Reset is whether the next boot is a reset.
	Reset bool `json:"reset,omitempty"`
}

type snapshot struct {
	URI     string `json:"uri"`
	Digest  string `json:"digest"`
	Attempt string `json:"attempt,omitempty"`
}

// Plugin simulates an OS.
type Plugin struct {
	path string
	lock sync.Mutex
	disk disk
}

var _ osplugin.Plugin = (*Plugin)(nil)

// New returns a simulated OS that is stored in the work directory.
func New(workDir string) *Plugin { return &Plugin{path: filepath.Join(workDir, stateFile)} }

// Init installs the OS if there is none.
func (p *Plugin) Init(context.Context) error {
	found, err := system.ReadJSON(p.path, &p.disk)
	if err != nil || found {
		return err
	}
	return p.change(install)
}

func install(d *disk) error {
	*d = disk{
		Mode: osplugin.ModeActive, Booted: 1, Default: 1, Newest: 1,
		Snapshots: map[int32]snapshot{1: {URI: "dummy:initial", Digest: Digest("dummy:initial")}},
	}
	return newBoot(d)
}

func newBoot(d *disk) error {
	random := make([]byte, 16)
	_, err := rand.Read(random)
	d.BootID = hex.EncodeToString(random)
	return err
}

// Facts of the boot.
func (p *Plugin) Facts(context.Context) (osplugin.Facts, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	booted := p.disk.Snapshots[p.disk.Booted]
	return osplugin.Facts{
		Snapshot: p.disk.Booted, Digest: booted.Digest, Attempt: booted.Attempt, Source: booted.URI, Mode: p.disk.Mode, BootID: p.disk.BootID,
		Version: "Dummy OS " + booted.URI,
	}, nil
}

// Space is always 8 GiB.
func (p *Plugin) Space(context.Context) (osplugin.Space, error) {
	return osplugin.Space{State: freeBytes, Work: freeBytes}, nil
}

// RecoverySpace is unknown: there is no recovery system.
func (p *Plugin) RecoverySpace(context.Context) (osplugin.RecoverySpace, error) {
	return osplugin.RecoverySpace{}, nil
}

// Exclusive never waits: there are no other processes.
func (p *Plugin) Exclusive(context.Context, func(string)) (release func(), err error) {
	return func() {}, nil
}

// Clean does nothing.
func (p *Plugin) Clean(context.Context) error { return nil }

// Upgrade adds a snapshot.
func (p *Plugin) Upgrade(_ context.Context, request osplugin.Upgrade) (osplugin.Output, error) {
	return osplugin.Output{}, p.change(func(d *disk) error {
		d.Newest++
		d.Snapshots[d.Newest] = snapshot{URI: request.Version.ImageURI, Digest: digestOf(request.Image), Attempt: request.Attempt}
		d.Default = d.Newest
		for id := range d.Snapshots {
			if id != d.Booted && id != d.Newest {
				delete(d.Snapshots, id)
			}
		}
		return nil
	})
}

// Written finds the snapshot of an attempt.
func (p *Plugin) Written(_ context.Context, attempt, digest string) (int32, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for id, snapshot := range p.disk.Snapshots {
		if snapshot.Attempt == attempt && snapshot.Digest == digest {
			return id, nil
		}
	}
	return 0, nil
}

// VerifySnapshot does nothing: there are no files.
func (p *Plugin) VerifySnapshot(context.Context, osplugin.Verification) error { return nil }

// Discard removes a snapshot.
func (p *Plugin) Discard(_ context.Context, snapshot int32) error {
	return p.change(func(d *disk) error {
		delete(d.Snapshots, snapshot)
		if d.Default == snapshot {
			d.Default = d.Booted
		}
		return nil
	})
}

// MakeRoom does nothing: there is always enough space.
func (p *Plugin) MakeRoom(context.Context, int64) error { return nil }

// BootNewest does nothing: the default is always booted.
func (p *Plugin) BootNewest(context.Context) error { return nil }

// BootAlways makes a snapshot the default.
func (p *Plugin) BootAlways(_ context.Context, id, _ int32) error {
	return p.change(func(d *disk) error {
		if _, found := d.Snapshots[id]; !found {
			return osplugin.ErrNoSuchSnapshot
		}
		d.Default = id
		return nil
	})
}

// Assess finds snapshots bad whose URI contains "unhealthy".
func (p *Plugin) Assess(context.Context, assess.Question) (assess.Verdict, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if strings.Contains(p.disk.Snapshots[p.disk.Booted].URI, unhealthy) {
		return assess.Verdict{State: assess.Bad, Reasons: []string{"the image calls itself unhealthy"}}, nil
	}
	return assess.Verdict{State: assess.Good}, nil
}

// Check always passes.
func (p *Plugin) Check(context.Context, assess.UnitStates) (assess.Verdict, error) {
	return assess.Verdict{State: assess.Good}, nil
}

// BeforeUpgrade has nothing to run.
func (p *Plugin) BeforeUpgrade(context.Context) (assess.Verdict, error) {
	return assess.Verdict{State: assess.Good}, nil
}

// Before finds nothing.
func (p *Plugin) Before(context.Context, bool) (assess.UnitStates, error) {
	return assess.UnitStates{}, nil
}

// Reboot boots the default and asks for a restart of the agent.
func (p *Plugin) Reboot(context.Context) error {
	if err := p.change(boot); err != nil {
		return err
	}
	return osplugin.ErrRestart
}

// PowerOff reboots.
func (p *Plugin) PowerOff(ctx context.Context) error { return p.Reboot(ctx) }

func boot(d *disk) error {
	if d.Bootstrap == "placed" {
		d.Bootstrap = "applied"
	}
	if d.Reset {
		d.Mode = osplugin.ModeRecovery
		return newBoot(d)
	}
	previous := d.Booted
	d.Booted, d.Mode = d.Default, osplugin.ModeActive
	if strings.Contains(d.Snapshots[d.Booted].URI, unbootable) {
		d.Booted = previous
	}
	if d.Booted != d.Default {
		d.Mode = osplugin.ModePassive
	}
	return newBoot(d)
}

// Bootstrap data is applied by the next boot, whatever its content.
func (p *Plugin) Bootstrap(context.Context, wire.Bootstrap) error {
	return p.change(func(d *disk) error {
		d.Bootstrap = "placed"
		return nil
	})
}

// BootstrapFailure is empty: no bootstrap of this OS fails.
func (p *Plugin) BootstrapFailure(context.Context) (string, error) { return "", nil }

// BootstrapState returns the stored state.
func (p *Plugin) BootstrapState(context.Context) (osplugin.BootstrapState, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return osplugin.BootstrapState{Placed: p.disk.Bootstrap == "placed", Applied: p.disk.Bootstrap == "applied"}, nil
}

// ResetDir is in the work directory.
func (p *Plugin) ResetDir() string { return filepath.Join(filepath.Dir(p.path), resetDir) }

// RecoveryDir is in ResetDir.
func (p *Plugin) RecoveryDir() string { return filepath.Join(p.ResetDir(), "recovery") }

// TriggerReset makes the next boots go to recovery, until Reset.
func (p *Plugin) TriggerReset(context.Context) error {
	return p.change(func(d *disk) error {
		d.Reset = true
		return nil
	})
}

// ResetsInRun says that only "elemental-agent run" is started in this OS's recovery mode.
func (p *Plugin) ResetsInRun() {}

// Reset reinstalls the OS.
func (p *Plugin) Reset(context.Context, json.RawMessage) error { return p.change(install) }

// AbandonReset does nothing.
func (p *Plugin) AbandonReset(context.Context) error { return nil }

// Installed is always true.
func (p *Plugin) Installed() bool { return true }

// InstallHostname does nothing.
func (p *Plugin) InstallHostname(context.Context, string) error { return nil }

// InstallFile does nothing.
func (p *Plugin) InstallFile(context.Context, osplugin.File) error { return nil }

// InstallCloudConfig does nothing.
func (p *Plugin) InstallCloudConfig(context.Context, json.RawMessage) error { return nil }

// Install does nothing.
func (p *Plugin) Install(context.Context, json.RawMessage) error { return nil }

func (p *Plugin) change(update func(*disk) error) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	if err := update(&p.disk); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return fmt.Errorf("storing the dummy OS: %w", err)
	}
	return system.WriteJSON(p.path, p.disk)
}
