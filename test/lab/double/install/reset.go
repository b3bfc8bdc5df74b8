// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// ErrNotInRecovery means that a reset was called outside the recovery system.
var ErrNotInRecovery = errors.New("reset can only be called from the recovery system")

// Reset reinstalls the recovery system, or another one if System is set. Everything else on the state partition is
// lost; FormatPersistent and FormatOEM select further partitions to wipe. It leaves all of them unmounted, /oem, too.
func (a *Action) Reset(ctx context.Context) (err error) {
	defer func() { err = a.clean(err) }()
	a.begin()
	if err := a.emptyDisk(); err != nil {
		return err
	}
	fromRecovery := a.System == source.Source{}
	if fromRecovery {
		a.System = source.Source{Kind: source.File, Value: a.Host.Path(disk.StateDir, disk.RecoveryImage)}
	}
	digest, err := a.newSystem(ctx, state.ActionReset)
	if err != nil {
		return err
	}
	if err := a.hook(ctx, "post-reset"); err != nil {
		return err
	}
	f := a.newState(digest, state.ActionReset)
	if a.recorded != nil && a.recorded.Recovery != nil {
		f.Recovery = a.recorded.Recovery
		if written := f.Recovery.Recovery; fromRecovery && written != nil {
			f.State.Snapshots[a.id].Source, f.State.Snapshots[a.id].Digest = written.Source, written.Digest
		}
	}
	if err := a.mountPartition(disk.LabelRecovery); err != nil {
		return err
	}
	return a.write(f)
}

// emptyDisk wipes partitions, and leaves them mounted.
func (a *Action) emptyDisk() error {
	if err := a.unmountAll(); err != nil {
		return err
	}
	if err := a.format(); err != nil {
		return err
	}
	a.always(a.unmountAll)
	return a.mountAll()
}

// changed are the partitions that a reset mounts and unmounts, by where they are mounted.
func (a *Action) changed() []disk.Mount {
	var found []disk.Mount
	for _, label := range []string{disk.LabelEFI, disk.LabelOEM, disk.LabelState, disk.LabelPersistent} {
		if partition, exists := a.Host.Partition(label); exists && partition.Target != "" {
			found = append(found, partition)
		}
	}
	slices.SortFunc(found, func(x, y disk.Mount) int { return strings.Compare(x.Target, y.Target) })
	return found
}

func (a *Action) unmountAll() error {
	a.Log.Info("Unmounting disk partitions")
	var errs error
	for _, partition := range slices.Backward(a.changed()) {
		_, mounted, err := a.Host.MountedAt(partition.Target)
		if err == nil && mounted {
			err = a.Host.Unmount(partition.Target)
		}
		if err != nil {
			a.Log.Errorf("Failed to unmount %s", partition.Target)
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

func (a *Action) mountAll() error {
	a.Log.Info("Mounting disk partitions")
	for _, partition := range a.changed() {
		partition.Options = "rw"
		if err := a.Host.Mount(partition); err != nil {
			return err
		}
	}
	return nil
}

// format wipes partitions.
func (a *Action) format() error {
	wiped := []struct{ name, label string }{{"state", disk.LabelState}}
	if a.FormatPersistent {
		wiped = append(wiped, struct{ name, label string }{"persistent", disk.LabelPersistent})
	}
	if a.FormatOEM {
		wiped = append(wiped, struct{ name, label string }{"oem", disk.LabelOEM})
	}
	for _, each := range wiped {
		a.Log.Infof("Formatting '%s' partition", each.name)
		if err := a.Host.Format(each.label); err != nil {
			return err
		}
	}
	return nil
}
