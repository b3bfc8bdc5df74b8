// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// close makes the snapshot's image and makes it the default of the next boot. From there on nothing
// is an error any more.
func (a *Action) close() error {
	err := errors.Join(a.Disk.Unmount(disk.WorkingTree), a.pack(), a.Disk.SetActive(a.id))
	if err != nil {
		return fmt.Errorf("closing transaction: %w", err)
	}
	_ = a.deleteOld()
	_ = a.listPassive()
	a.inProgress = false
	return nil
}

func (a *Action) pack() error {
	workDir := a.Disk.Snapshot(a.id, disk.WorkDir)
	if err := source.Pack(workDir, a.Disk.Snapshot(a.id, disk.SnapshotImage), a.Disk.Available()); err != nil {
		return err
	}
	return os.RemoveAll(workDir)
}

// deleteOld deletes the oldest passive snapshots, so that with the active one there are at most as many
// as the snapshotter may keep. The booted one cannot be deleted and counts as if it had been.
func (a *Action) deleteOld() error {
	passive, err := a.passive()
	if err != nil {
		return err
	}
	booted, err := a.Disk.Booted()
	if err != nil {
		return err
	}
	var errs error
	for ; len(passive) > state.LoopDevice().MaxSnaps-1; passive = passive[1:] {
		if passive[0] == booted.Snapshot {
			errs = errors.Join(errs, fmt.Errorf("cannot delete snapshot %d: in use", passive[0]))
			continue
		}
		errs = errors.Join(errs, os.RemoveAll(a.Disk.Snapshot(passive[0])))
	}
	return errs
}

// passive are all snapshots but the default one, in ascending order, with or without an image.
func (a *Action) passive() ([]int, error) {
	ids, err := a.Disk.Snapshots()
	if err != nil {
		return nil, err
	}
	active, err := a.Disk.Active()
	return slices.DeleteFunc(ids, func(id int) bool { return id == active }), err
}

// listPassive tells GRUB which passive snapshots there are, newest first.
func (a *Action) listPassive() error {
	ids, err := a.passive()
	if err != nil {
		return err
	}
	var passive, fallback []string
	for _, id := range slices.Backward(ids) {
		passive = append(passive, strconv.Itoa(id))
	}
	for i := range len(ids) + 2 {
		fallback = append(fallback, strconv.Itoa(i))
	}
	return a.setOEMEnv(grub.DefaultFallback, strings.Join(fallback, " "),
		grub.PassiveSnapshots, strings.Join(passive, " "))
}
