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

// close creates the snapshot's image and makes it the default of the next boot. Failures after that are not errors.
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

// pack copies the tree into the image, which is mounted in place of the tree. Its loop device stays attached if the CLI
// is killed in between.
func (a *Action) pack() error {
	workDir, image := a.Disk.Snapshot(a.id, disk.WorkDir), a.Disk.Snapshot(a.id, disk.SnapshotImage)
	if err := os.WriteFile(image, nil, 0o644); err != nil {
		return err
	}
	loop, err := a.Disk.Attach(a.Disk.HostPath(image))
	if err != nil {
		return err
	}
	if err := a.Disk.Mount(disk.Mount{Device: loop, Target: disk.WorkingTree, Options: "rw"}); err != nil {
		return err
	}
	a.pace.reached(source.OncePacking)
	err = source.Pack(workDir, image, a.Disk.Writable())
	if err := errors.Join(err, a.Disk.Unmount(disk.WorkingTree), a.Disk.Detach(loop)); err != nil {
		return err
	}
	return os.RemoveAll(workDir)
}

// deleteOld deletes the oldest passive snapshots, so that with the active one there are at most as many as the
// snapshotter keeps. The booted one cannot be deleted, but counts as deleted.
func (a *Action) deleteOld() error {
	passive, err := a.passive()
	if err != nil {
		return err
	}
	var errs error
	for ; len(passive) > state.LoopDevice().MaxSnaps-1; passive = passive[1:] {
		attached, err := a.Disk.Attached(passive[0])
		if err != nil || attached {
			errs = errors.Join(errs, err)
			errs = errors.Join(errs, fmt.Errorf("cannot delete snapshot %d: in use", passive[0]))
			continue
		}
		if passive[0] == a.former {
			// The CLI takes the link to the new snapshot for that to the former default.
			errs = errors.Join(errs, os.Remove(a.Disk.State(disk.SnapshotsDir, disk.ActiveLink)))
		}
		errs = errors.Join(errs, os.RemoveAll(a.Disk.Snapshot(passive[0])))
	}
	return errs
}

// passive are all snapshots except the default one, in ascending order, with or without an image.
func (a *Action) passive() ([]int, error) {
	ids, err := a.Disk.Snapshots()
	if err != nil {
		return nil, err
	}
	active, err := a.Disk.Active()
	return slices.DeleteFunc(ids, func(id int) bool { return id == active }), err
}

// listPassive lists the passive snapshots for GRUB, newest first.
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
