// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// Action on a disk.
type Action struct {
	Host Host
	// System is the image to write.
	System source.Source
	// Recovery makes an upgrade write the recovery system too, from RecoverySystem; default: System.
	Recovery       bool
	RecoverySystem source.Source
	// Labels of the new snapshot.
	Labels map[string]string
	// CloudInit are files that an installation or a reset copies to the OEM partition.
	CloudInit []string
	// CloudInitPaths are the directories with the files of the hooks.
	CloudInitPaths []string
	// Strict makes a hook that fails end the action.
	Strict bool
	// Device is the disk of an installation.
	Device string
	// FormatPersistent and FormatOEM are the further partitions that a reset wipes.
	FormatPersistent, FormatOEM bool
	// Log is the CLI's log; default: none.
	Log *logrus.Logger
	// Now is the clock; time.Now unless set.
	Now func() time.Time

	id         int
	inProgress bool
	// former is the snapshot that was the default when the action began.
	former int
	// recorded is the installation state that the action began with; nil if there was none.
	recorded *state.File
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
	for _, each := range slices.Backward(a.cleanup) {
		err = errors.Join(err, each(err != nil))
	}
	a.cleanup = nil
	return err
}

// begin sets what is not set, and reads the installation state, without which the CLI begins if it cannot be decoded.
// Source: elemental-toolkit v2.3.2, LoadInstallState.
func (a *Action) begin() {
	if a.Log == nil {
		a.Log = logrus.New()
		a.Log.SetOutput(io.Discard)
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	if recorded, err := state.Read(a.Host.Path(disk.StateDir, disk.StateFile)); err == nil {
		a.recorded = recorded
	} else {
		a.Log.Warnf("failed reading installation state: %v", err)
	}
}

func (a *Action) date() string { return a.Now().Format(time.RFC3339) }

func (a *Action) snapshots() disk.Snapshots {
	return disk.Snapshots(a.Host.File(disk.LabelState, disk.SnapshotsDir))
}

// start begins a snapshot: its directory is numbered after the highest one, whatever the others
// contain.
func (a *Action) start() error {
	a.Log.Info("Starting snapshotter transaction")
	a.Log.Info("Starting a snapshotter transaction")
	ids, err := a.snapshots().IDs()
	if err != nil {
		return err
	}
	a.id = 1
	if len(ids) > 0 {
		a.id = ids[len(ids)-1] + 1
	}
	if a.former, err = a.active(); err != nil {
		a.Log.Errorf("failed to determine active snapshot: %v", err)
		return err
	}
	workDir := a.snapshots().Path(a.id, disk.WorkDir)
	if err := os.MkdirAll(workDir, 0o755); err != nil {
		return fmt.Errorf("starting transaction: %w", err)
	}
	mount := disk.Mount{Device: a.Host.HostPath(workDir), Target: disk.WorkingTree, Options: "rw,bind"}
	if err := a.Host.Mount(mount); err != nil {
		return fmt.Errorf("starting transaction: %w", err)
	}
	a.inProgress = true
	a.onError(a.drop)
	a.Log.Infof("Transaction for snapshot %d successfully started", a.id)
	return nil
}

// active is the default snapshot; 0 if there is none. The CLI does not continue with one that is missing.
func (a *Action) active() (int, error) {
	id, err := a.snapshots().Active()
	if err == nil && id > 0 {
		_, err = os.Stat(a.snapshots().Path(id, disk.SnapshotImage))
	}
	return id, err
}

// initiate makes the directory of all snapshots.
func (a *Action) initiate() error {
	a.Log.Infof("Initiating a LoopDevice snapshotter at %s", a.Host.HostPath(a.Host.File(disk.LabelState)))
	if err := os.MkdirAll(string(a.snapshots()), 0o755); err != nil {
		return fmt.Errorf("initiating snapshotter: %w", err)
	}
	return nil
}

// drop removes the new snapshot, even if it is the default already.
func (a *Action) drop() error {
	var err error
	if a.inProgress {
		err = a.Host.Unmount(disk.WorkingTree)
	}
	return errors.Join(err, os.RemoveAll(a.snapshots().Path(a.id)))
}

// deploy writes the image into the snapshot and returns its digest.
func (a *Action) deploy(ctx context.Context) (string, error) {
	a.Log.Infof("Copying %s source...", a.System.Value)
	digest, err := a.Host.Deploy(ctx, a.System, a.snapshots().Path(a.id, disk.WorkDir))
	if err != nil {
		a.Log.Errorf("failed deploying source '%s': %v", a.System, err)
		return "", err
	}
	a.Log.Infof("Finished copying %s into %s", a.System.Value, a.Host.HostPath(a.snapshots().Path(a.id, disk.WorkDir)))
	return digest, nil
}

// setVariables sets GRUB's variables that the CLI sets, given as name, value, name, value.
func (a *Action) setVariables(pairs ...string) error {
	return a.Host.SetVariables(a.Host.File(disk.LabelEFI, "grub_oem_env"), pairs...)
}

func (a *Action) labelEntries() error {
	err := a.setVariables("oem_label", disk.LabelOEM, "persistent_label", disk.LabelPersistent,
		"recovery_label", disk.LabelRecovery, "state_label", disk.LabelState)
	if err != nil {
		a.Log.Errorf("Error setting GRUB labels: %v", err)
	}
	return err
}

// write records the state on both partitions that store it. It is written in place.
func (a *Action) write(f *state.File) error {
	return f.Write(a.Host.File(disk.LabelState, disk.StateFile), a.Host.File(disk.LabelRecovery, disk.StateFile))
}
