// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

// hook runs the cloud-init files of a stage. Meanwhile the CLI logs only errors, and only --strict makes them end the action.
func (a *Action) hook(ctx context.Context, stage string, more ...string) error {
	a.Log.Infof("Running %s hook", stage)
	level := a.Log.GetLevel()
	a.Log.SetLevel(logrus.ErrorLevel)
	err := a.Host.RunStage(ctx, stage, append(slices.Clone(a.CloudInitPaths), more...))
	a.Log.SetLevel(level)
	if !a.Strict {
		return nil
	}
	return err
}

// refineHooks are the two hooks of an action on a tree that is written: in the tree, and then outside, with the tree's files of that stage, too.
func (a *Action) refineHooks(ctx context.Context, action string) error {
	stage := "after-" + action
	if err := a.inTree(disk.WorkingTree, a.treeMounts(), func() error { return a.hook(ctx, stage+"-chroot") }); err != nil {
		return err
	}
	var ofTree []string
	for _, each := range a.CloudInitPaths {
		ofTree = append(ofTree, filepath.Join(disk.WorkingTree, each))
	}
	return a.hook(ctx, stage, ofTree...)
}

// bind is a directory of the host, and where it is in a tree.
type bind struct{ from, to string }

// systemMounts are what every tree gets in which something runs.
func systemMounts() []bind {
	return []bind{{"/dev", "/dev"}, {"/dev/pts", "/dev/pts"}, {"/proc", "/proc"}, {"/sys", "/sys"}}
}

// treeMounts are the host's partitions as hooks see them.
func (a *Action) treeMounts() []bind {
	var found []bind
	for label, to := range map[string]string{disk.LabelOEM: disk.OEMDir, disk.LabelEFI: disk.RunEFIDir, disk.LabelPersistent: disk.NewPersistentDir} {
		partition, exists := a.Host.Partition(label)
		if !exists || partition.Target == "" {
			continue
		}
		if _, mounted, err := a.Host.MountedAt(partition.Target); err == nil && mounted {
			found = append(found, bind{partition.Target, to})
		}
	}
	slices.SortFunc(found, func(x, y bind) int {
		if x.from < y.from {
			return -1
		}
		return 1
	})
	return found
}

// inTree calls a function in a tree, with the host's directories mounted there.
func (a *Action) inTree(tree string, more []bind, do func() error) (err error) {
	var mounted []string
	defer func() {
		for _, target := range slices.Backward(mounted) {
			err = errors.Join(err, a.Host.Unmount(target))
		}
	}()
	for _, each := range append(systemMounts(), more...) {
		target := tree + each.to
		if err := a.Host.Mount(disk.Mount{Device: each.from, Target: target, Options: "rw,bind"}); err != nil {
			return err
		}
		mounted = append(mounted, target)
	}
	return a.Host.Chroot(tree, do)
}
