// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

const (
	// transition is the directory of a recovery system that is not complete, and former that of the one before.
	transition    = "boot-transition"
	former        = "boot-old"
	squashfs      = "squashfs"
	recoveryLabel = "COS_SYSTEM"
)

// upgradeRecovery writes the recovery system, too, if that is wanted, and returns what is recorded of one that is not recorded yet.
func (a *Action) upgradeRecovery(ctx context.Context, digest string) (*state.System, error) {
	if !a.Recovery {
		return nil, nil
	}
	a.Log.Info("Deploying recovery system")
	of := a.RecoverySystem
	if of == (source.Source{}) || of == a.System {
		of = source.Source{Kind: source.File, Value: a.snapshots().Path(a.id, disk.SnapshotImage)}
	}
	image := RecoveryImage{FS: squashfs}
	if r := a.recorded; r != nil && r.Recovery != nil && r.Recovery.Recovery != nil && r.Recovery.Recovery.FS != squashfs {
		image = RecoveryImage{FS: r.Recovery.Recovery.FS, Label: cmp.Or(r.Recovery.Recovery.Label, recoveryLabel)}
	}
	written := &state.System{Source: of.String(), Digest: digest, FS: image.FS, Label: image.Label}
	if err := a.replaceRecovery(ctx, of, image); err != nil {
		a.Log.Errorf("Could not upgrade Recovery: %v", err)
		return nil, err
	}
	a.Log.Info("Recovery upgrade completed")
	return written, nil
}

// replaceRecovery writes a recovery system beside the present one, and then switches them.
func (a *Action) replaceRecovery(ctx context.Context, of source.Source, as RecoveryImage) error {
	path := func(name string) string { return a.Host.File(disk.LabelRecovery, name) }
	if err := os.RemoveAll(path(transition)); err != nil {
		return err
	}
	if err := a.deployRecovery(ctx, of, as); err != nil {
		a.Log.Errorf("failed deploying recovery image: %v", err)
		return err
	}
	present := filepath.Dir(disk.RecoveryImage)
	if err := os.RemoveAll(path(former)); err != nil {
		return err
	}
	if err := os.Rename(path(present), path(former)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(path(transition), path(present)); err != nil {
		return err
	}
	return os.RemoveAll(path(former))
}

// deployRecovery mounts the tree at a path that it does not unmount if kernel or initrd cannot be copied from there.
func (a *Action) deployRecovery(ctx context.Context, of source.Source, as RecoveryImage) error {
	partition, _ := a.Host.Partition(disk.LabelRecovery)
	dir, target := a.Host.File(disk.LabelRecovery, transition), filepath.Join(partition.Target, transition, "recovery.imgTree")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("deploying recovery system: %w", err)
	}
	image := filepath.Join(dir, filepath.Base(disk.RecoveryImage))
	a.Log.Infof("Deploying recovery image: %s", filepath.Join(filepath.Dir(target), filepath.Base(image)))
	remove, err := a.showTree(ctx, of, target)
	if err != nil {
		return err
	}
	if err := a.Host.CopyKernel(target, dir); err != nil {
		a.Log.Errorf("Could not find kernel and/or initrd: %v", err)
		return err
	}
	return errors.Join(a.Host.MakeRecovery(image, target, as), remove())
}

// showTree has the tree of a source at a path of the host until it is removed.
func (a *Action) showTree(ctx context.Context, of source.Source, target string) (remove func() error, err error) {
	if of.Kind != source.File {
		dir := a.Host.Path(target)
		_, err := a.Host.Deploy(ctx, of, dir)
		return func() error { return os.RemoveAll(dir) }, err
	}
	loop, err := a.Host.Attach(a.Host.HostPath(of.Value))
	if err != nil {
		return nil, err
	}
	if err := a.Host.Mount(disk.Mount{Device: loop, Target: target, Options: "rw"}); err != nil {
		return nil, errors.Join(err, a.Host.Detach(loop))
	}
	return func() error {
		return errors.Join(a.Host.Unmount(target), a.Host.Detach(loop), os.RemoveAll(a.Host.Path(target)))
	}, nil
}
