// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	// btrfs is the toolkit's name of the snapshotter, with or without snapper.
	btrfs = "btrfs"
	// snapshotInfo of a snapshot is written by snapper or, without snapper, by the toolkit.
	snapshotInfo = "info.xml"
	snapshotWork = "snapshot.workDir"
	activeSnap   = "active_snap"

	snapperConfig = "/etc/snapper/configs/root"

	// longestDeletion is the timeout for snapper, which waits for its daemon for ever.
	longestDeletion = 10 * time.Minute
)

var (
	// unfinished matches snapshotInfo until the last step of an installation or upgrade.
	// Source: elemental-toolkit v2.3.2, pkg/snapshotter, installProgress and updateProgress.
	unfinished = regexp.MustCompile(`>\s*(install|update)-in-progress\s*<`)
	// defaultSubvolume matches the output of "btrfs subvolume get-default" for a snapshot.
	defaultSubvolume = regexp.MustCompile(`path (?:<FS_TREE>/)?(?:@/)?\.snapshots/(\d+)/snapshot\s*$`)
)

// rememberSnapper restores the setting that a btrfs host has no snapper. The CLI drops it when it first writes its state: it omits "false",
// and reads a missing value as "true", so that the next upgrade would fail. Where snapper is used, the toolkit has configured it.
func (p *Plugin) rememberSnapper(state installState) error {
	if state.Snapshotter.Type != btrfs || p.host.Exists(snapperConfig) {
		return nil
	}
	return p.editState(func(document *yaml.Node) bool {
		snapshotter := nodeAt(document, "snapshotter")
		if snapshotter == nil || snapshotter.Kind != yaml.MappingNode || valueOf(valueOf(snapshotter, "config"), "snapper") != nil {
			return false
		}
		removeKey(snapshotter, "config")
		snapshotter.Content = append(snapshotter.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "config"}, &yaml.Node{
			Kind:    yaml.MappingNode,
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "snapper"}, {Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}},
		})
		return true
	})
}

// subvolumes are the snapshots of the btrfs snapshotter. The default is the default subvolume of the file system, and is also stored in
// active_snap for GRUBs that do not support default subvolumes.
type subvolumes struct{ *Plugin }

func (s subvolumes) whole(snapshot int32) bool {
	info, err := os.Stat(s.root(snapshot))
	if err != nil || !info.IsDir() {
		return false
	}
	if _, err := os.Lstat(filepath.Join(s.snapshotPath(snapshot), snapshotWork)); err == nil {
		return false
	}
	// A snapshot whose info cannot be read counts as complete, since incomplete ones are removed.
	content, _ := os.ReadFile(filepath.Join(s.snapshotPath(snapshot), snapshotInfo))
	return !unfinished.Match(content)
}

func (s subvolumes) next(ctx context.Context) (int32, error) {
	said, err := system.Check(ctx, s.host.Runner, "btrfs", "subvolume", "get-default", s.statePath())
	if err != nil {
		return 0, fmt.Errorf("reading the default subvolume: %w", err)
	}
	match := defaultSubvolume.FindStringSubmatch(said)
	if match == nil {
		return 0, nil
	}
	return parseID(match[1])
}

// setNext returns after the change is on the disk: GRUB's variables, which are written afterwards and release the entry selected until then,
// take effect at once.
func (s subvolumes) setNext(ctx context.Context, snapshot int32) error {
	for _, args := range [][]string{{"subvolume", "set-default", s.root(snapshot)}, {"filesystem", "sync", s.statePath()}} {
		if _, err := system.Check(ctx, s.host.Runner, "btrfs", args...); err != nil {
			return fmt.Errorf("making snapshot %d the default: %w", snapshot, err)
		}
	}
	return nil
}

func (subvolumes) variables(snapshot int32) map[string]string {
	return map[string]string{activeSnap: strconv.Itoa(int(snapshot))}
}

func (s subvolumes) root(snapshot int32) string {
	return filepath.Join(s.snapshotPath(snapshot), snapshotTree)
}

// remove deletes the subvolume first, since its files may be read-only. If snapper is used, it is asked to: otherwise its daemon would still
// list the snapshot, and the CLI would make it a fallback. snapper refuses snapshots it does not know, and leaves a directory that is not
// empty.
func (s subvolumes) remove(ctx context.Context, snapshot int32) error {
	if s.host.Exists(snapperConfig) {
		if err := s.askSnapper(ctx, snapshot); err != nil {
			s.log.Warn("snapper failed to delete a snapshot, deleting its subvolume", "snapshot", snapshot, "error", err)
		}
	}
	if _, err := os.Lstat(s.root(snapshot)); err == nil {
		if _, err := system.Check(ctx, s.host.Runner, "btrfs", "subvolume", "delete", s.root(snapshot)); err != nil {
			return err
		}
	}
	return system.RemoveTree(s.snapshotsPath(), strconv.Itoa(int(snapshot)))
}

// askSnapper makes snapper delete a snapshot, which waits for what its daemon does for a killed CLI.
func (s subvolumes) askSnapper(ctx context.Context, snapshot int32) error {
	command := system.Command{Name: "snapper", Args: []string{"delete", "--sync", strconv.Itoa(int(snapshot))}, Timeout: longestDeletion}
	_, err := system.CheckCommand(ctx, s.host.Runner, command)
	return err
}

// CopiedOver finds the copy of the former OS over which a working tree is copied: the CLI begins a subvolume with such a copy, and skips
// files of the same size and time. Snapshots that are images have none.
func CopiedOver(workingTree, snapshots string) (former string, found bool) {
	here, err := os.Stat(workingTree)
	if err != nil {
		return "", false
	}
	candidates, _ := filepath.Glob(filepath.Join(snapshots, "*", snapshotWork)) // cannot fail: the pattern is valid
	for _, each := range candidates {
		former = filepath.Join(filepath.Dir(each), snapshotTree)
		info, err := os.Stat(each)
		if err != nil || !os.SameFile(here, info) {
			continue
		}
		if info, err := os.Lstat(former); err == nil && info.IsDir() {
			return former, true
		}
	}
	return "", false
}
