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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// close creates the snapshot's image and makes it the default of the next boot. Failures after that are not errors.
func (a *Action) close() error {
	a.Log.Info("Closing snapshotter transaction")
	a.Log.Infof("Closing transaction for snapshot %d workdir", a.id)
	err := a.Host.Unmount(disk.WorkingTree)
	if err == nil {
		err = a.pack()
	}
	if err == nil {
		err = a.snapshots().SetActive(a.id)
	}
	if err != nil {
		a.Log.Errorf("failed closing snapshot transaction: %v", err)
		return fmt.Errorf("closing transaction: %w", err)
	}
	a.Log.Info("Cleaning old passive snapshots")
	if err := a.deleteOld(); err != nil {
		a.Log.Warnf("could not delete snapshots: %v", err)
	}
	a.Log.Info("Setting bootloader with current passive snapshots")
	if err := a.listPassive(); err != nil {
		a.Log.Warnf("failed setting bootloader environment file: %v", err)
	}
	a.inProgress = false
	return nil
}

// pack copies the tree into the image, which is mounted in place of the tree. Its loop device stays attached if the CLI
// is killed in between.
func (a *Action) pack() error {
	tree, image := a.snapshots().Path(a.id, disk.WorkDir), a.snapshots().Path(a.id, disk.SnapshotImage)
	if err := a.Host.MakeImage(image, tree, fmt.Sprintf("EL_SNAP%d", a.id)); err != nil {
		return err
	}
	loop, err := a.Host.Attach(a.Host.HostPath(image))
	if err != nil {
		return err
	}
	if err := a.Host.Mount(disk.Mount{Device: loop, Target: disk.WorkingTree, Options: "rw"}); err != nil {
		return errors.Join(err, a.Host.Detach(loop))
	}
	err = a.Host.FillImage(image, tree, disk.WorkingTree)
	if err == nil {
		err = a.inTree(disk.WorkingTree, nil, func() error { return nil }) // for SELinux, which is not simulated
	}
	if err := errors.Join(err, a.Host.Unmount(disk.WorkingTree), a.Host.Detach(loop)); err != nil {
		return err
	}
	return os.RemoveAll(tree)
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
		attached, err := a.Host.Attached(passive[0])
		if err != nil || attached {
			errs = errors.Join(errs, err)
			errs = errors.Join(errs, fmt.Errorf("cannot delete snapshot %d: in use", passive[0]))
			continue
		}
		if passive[0] == a.former {
			// The CLI takes the link to the new snapshot for that to the former default.
			errs = errors.Join(errs, os.Remove(a.Host.File(disk.LabelState, disk.SnapshotsDir, disk.ActiveLink)))
		}
		errs = errors.Join(errs, os.RemoveAll(a.snapshots().Path(passive[0])))
	}
	return errs
}

// passive are all snapshots except the default one, in ascending order, with or without an image.
func (a *Action) passive() ([]int, error) {
	ids, err := a.snapshots().IDs()
	if err != nil {
		return nil, err
	}
	active, err := a.active()
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
	return a.setVariables(grub.DefaultFallback, strings.Join(fallback, " "), grub.PassiveSnapshots, strings.Join(passive, " "))
}
