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
	// btrfs is the toolkit's name of the snapshotter, with snapper and without.
	btrfs = "btrfs"
	// snapshotInfo of a snapshot is snapper's, and written by the toolkit where it works without.
	snapshotInfo = "info.xml"
	snapshotWork = "snapshot.workDir"
	activeSnap   = "active_snap"

	snapperConfig = "/etc/snapper/configs/root"

	// longestDeletion is when snapper is killed: it waits for ever for a daemon that does not answer.
	longestDeletion = 10 * time.Minute
)

var (
	// unfinished is in snapshotInfo from the first step of an installation or upgrade to its last but one.
	// Source: elemental-toolkit v2.3.2, pkg/snapshotter, installProgress and updateProgress.
	unfinished = regexp.MustCompile(`>\s*(install|update)-in-progress\s*<`)
	// defaultSubvolume is what "btrfs subvolume get-default" says of a snapshot.
	defaultSubvolume = regexp.MustCompile(`path (?:<FS_TREE>/)?(?:@/)?\.snapshots/(\d+)/snapshot\s*$`)
)

// rememberSnapper writes down again that a host of btrfs has no snapper, which the CLI forgets when it writes its state for the first time:
// "false" is what it leaves out, and nothing means "true" to it. The next upgrade would fail. The toolkit configures snapper where it is used.
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

// subvolumes are the snapshots of the btrfs snapshotter. The default is the file system's default subvolume, and what GRUB has in
// active_snap: GRUBs that cannot tell the default subvolume go by that.
type subvolumes struct{ *Plugin }

func (s subvolumes) whole(snapshot int32) bool {
	info, err := os.Stat(s.root(snapshot))
	if err != nil || !info.IsDir() {
		return false
	}
	if _, err := os.Lstat(filepath.Join(s.snapshotPath(snapshot), snapshotWork)); err == nil {
		return false
	}
	// What cannot be read says nothing against a snapshot: it would be removed.
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

// setNext has it on the disk when it returns: what is written to GRUB's variables after it is on theirs at once, and takes back the entry
// that was to be booted until then.
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

// remove deletes the subvolume first: its files may be read-only. snapper is asked to where it is used, because its daemon would go on to
// count the snapshot, and the CLI would make it a fallback. It refuses one that it does not know, and leaves the directory where that is not empty.
func (s subvolumes) remove(ctx context.Context, snapshot int32) error {
	if s.host.Exists(snapperConfig) {
		if err := s.askSnapper(ctx, snapshot); err != nil {
			s.log.Warn("snapper does not delete a snapshot; its subvolume is deleted", "snapshot", snapshot, "error", err)
		}
	}
	if _, err := os.Lstat(s.root(snapshot)); err == nil {
		if _, err := system.Check(ctx, s.host.Runner, "btrfs", "subvolume", "delete", s.root(snapshot)); err != nil {
			return err
		}
	}
	return system.RemoveTree(s.snapshotsPath(), strconv.Itoa(int(snapshot)))
}

// askSnapper has snapper delete a snapshot, which waits for what its daemon does for a CLI that was killed.
func (s subvolumes) askSnapper(ctx context.Context, snapshot int32) error {
	command := system.Command{Name: "snapper", Args: []string{"delete", "--sync", strconv.Itoa(int(snapshot))}, Timeout: longestDeletion}
	_, err := system.CheckCommand(ctx, s.host.Runner, command)
	return err
}

// CopiedOver finds the copy of the former OS over which a working tree is copied: the CLI begins a subvolume with one, and copies files
// of another size or time than those in it. There is none of a snapshot that is an image.
func CopiedOver(workingTree, snapshots string) (former string, found bool) {
	here, err := os.Stat(workingTree)
	if err != nil {
		return "", false
	}
	candidates, _ := filepath.Glob(filepath.Join(snapshots, "*", snapshotWork)) // a path without a pattern of its own
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
