// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// Action on a disk.
type Action struct {
	Disk disk.Disk
	// System is the image to write.
	System source.Source
	// Recovery makes an upgrade write the recovery system too.
	Recovery bool
	// Labels of the new snapshot.
	Labels map[string]string
	// CloudInit are files that an installation copies to the OEM partition.
	CloudInit []string
	// FormatPersistent and FormatOEM are the further partitions that a reset wipes.
	FormatPersistent, FormatOEM bool
	// UserAgent and Transport are used for registries.
	UserAgent string
	Transport http.RoundTripper
	// Now is the clock; time.Now unless set.
	Now func() time.Time
	// HalfWay is called when half of the image is written.
	HalfWay func()
	// Kill kills this process during an upgrade whose image requests it; SIGKILL unless set.
	Kill func()
	// CutPower powers the host off during an upgrade whose image requests it.
	CutPower func()

	id         int
	inProgress bool
	// former is the snapshot that was the default when the action began.
	former int
	// recorded is the installation state that an upgrade began with.
	recorded *state.File
	pace     *pace
	cleanup  []func(failed bool) error
}

// always and onError register cleanups, which run in reverse order.
func (a *Action) always(f func() error) {
	a.cleanup = append(a.cleanup, func(bool) error { return f() })
}

func (a *Action) onError(f func() error) {
	a.cleanup = append(a.cleanup, func(failed bool) error {
		if !failed {
			return nil
		}
		return f()
	})
}

func (a *Action) clean(err error) error {
	for i := len(a.cleanup) - 1; i >= 0; i-- {
		err = errors.Join(err, a.cleanup[i](err != nil))
	}
	a.cleanup = nil
	return err
}

func (a *Action) date() string {
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	return now().Format(time.RFC3339)
}

// start begins a snapshot: its directory is numbered after the highest one, whatever the others
// contain.
func (a *Action) start() error {
	if err := os.MkdirAll(a.Disk.State(disk.SnapshotsDir), 0o755); err != nil {
		return fmt.Errorf("initiating snapshotter: %w", err)
	}
	ids, err := a.Disk.Snapshots()
	if err != nil {
		return err
	}
	a.id = 1
	if len(ids) > 0 {
		a.id = ids[len(ids)-1] + 1
	}
	if a.former, err = a.Disk.Active(); err != nil {
		return err
	}
	workDir := a.Disk.Snapshot(a.id, disk.WorkDir)
	if err := os.MkdirAll(workDir, 0o755); err != nil {
		return fmt.Errorf("starting transaction: %w", err)
	}
	mount := disk.Mount{Device: a.Disk.HostPath(workDir), Target: disk.WorkingTree, Options: "rw,bind"}
	if err := a.Disk.Mount(mount); err != nil {
		return fmt.Errorf("starting transaction: %w", err)
	}
	a.inProgress = true
	a.onError(a.drop)
	return nil
}

// drop removes the new snapshot, even if it is the default already.
func (a *Action) drop() error {
	var err error
	if a.inProgress {
		err = a.Disk.Unmount(disk.WorkingTree)
	}
	return errors.Join(err, os.RemoveAll(a.Disk.Snapshot(a.id)))
}

// deploy writes the image into the snapshot and returns its digest.
func (a *Action) deploy(ctx context.Context) (string, error) {
	a.pace = &pace{ctx: ctx, disk: a.Disk, kill: a.Kill, cutPower: a.CutPower, halfWay: a.HalfWay}
	digest, err := a.System.Extract(ctx, a.Disk.Snapshot(a.id, disk.WorkDir), source.Options{
		UserAgent: a.UserAgent,
		Transport: a.Transport,
		Started:   a.pace.start,
		Progress:  a.pace.progress,
	})
	if err != nil {
		return "", fmt.Errorf("deploying source %q: %w", a.System, err)
	}
	return digest, nil
}

// requireCheck is the hook of the boot assessment: the next boot of the active entry is on trial.
func (a *Action) requireCheck() error {
	env, err := grub.Read(a.Disk.GrubEnv())
	if err != nil {
		return err
	}
	env.Set(grub.BootAssessmentCheck, grub.Yes)
	env.Unset(grub.LastBootAttempt)
	return env.Write(a.Disk.GrubEnv())
}

// setOEMEnv sets variables of grub_oem_env, given as name, value, name, value.
func (a *Action) setOEMEnv(pairs ...string) error {
	env, err := grub.Read(a.Disk.GrubOEMEnv())
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		env.Set(pairs[i], pairs[i+1])
	}
	return env.Write(a.Disk.GrubOEMEnv())
}

func (a *Action) labelEntries() error {
	return a.setOEMEnv("oem_label", "COS_OEM", "persistent_label", "COS_PERSISTENT",
		"recovery_label", "COS_RECOVERY", "state_label", "COS_STATE")
}

// write records the state on both partitions that store it.
func (a *Action) write(f *state.File) error {
	return f.Write(a.Disk.State(disk.StateFile), a.Disk.Recovery(disk.StateFile))
}
