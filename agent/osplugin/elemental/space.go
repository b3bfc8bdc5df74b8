// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	// leastSnaps is the minimum number of snapshots that the CLI keeps, and the default: the new and the running one.
	// Source: elemental-toolkit, loopdevice snapshotter.
	leastSnaps = 2
	// blockSize is the unit of stat(2), in bytes.
	blockSize = 512
)

// Space measures the free space of the state partition, including what MakeRoom can add to it, and of the work directory.
func (p *Plugin) Space(ctx context.Context) (osplugin.Space, error) {
	free, err := p.available(ctx, p.statePath())
	if err != nil {
		return osplugin.Space{}, err
	}
	superfluous, err := p.superfluous(ctx)
	if err != nil {
		return osplugin.Space{}, err
	}
	for _, id := range superfluous {
		free += p.allocated(id)
	}
	work, err := p.available(ctx, p.workDir)
	return osplugin.Space{State: free, Work: work}, err
}

// MakeRoom removes snapshots that the CLI would remove at the end of the upgrade, oldest first, until enough is free: until then, the
// partition has to hold the new tree, its image and all former snapshots.
func (p *Plugin) MakeRoom(ctx context.Context, bytes int64) error {
	superfluous, err := p.superfluous(ctx)
	if err != nil {
		return err
	}
	for _, id := range superfluous {
		free, err := p.available(ctx, p.statePath())
		if err != nil || free >= bytes {
			return err
		}
		p.log.Info("Removing a snapshot that the upgrade would remove at its end, to make space for the new one", "snapshot", id)
		if err := p.Discard(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// superfluous returns the snapshots that the CLI would remove at the end of an upgrade, oldest first. It keeps the configured number,
// including the new one, and never removes the running one. With btrfs there are none, since it is unknown what removing a subvolume frees.
func (p *Plugin) superfluous(ctx context.Context) ([]int32, error) {
	booted, err := p.booted()
	if err != nil {
		return nil, err
	}
	state, err := p.readState()
	if err != nil || state.Snapshotter.Type == btrfs {
		return nil, err
	}
	// A snapshot that was written since, and is not booted yet, is not a fallback.
	next, err := p.layout(state).next(ctx)
	if err != nil {
		return nil, err
	}
	others, err := p.fallbacks(state, booted, next)
	if err != nil {
		return nil, err
	}
	slices.Reverse(others)
	return others[:max(len(others)-max(state.Snapshotter.MaxSnaps-leastSnaps, 0), 0)], nil
}

// allocated returns the disk space of a snapshot's image, in bytes; 0 if there is none.
func (p *Plugin) allocated(id int32) int64 {
	info, err := os.Stat(filepath.Join(p.snapshotPath(id), snapshotImage))
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Blocks * blockSize
}

func (p *Plugin) available(ctx context.Context, path string) (int64, error) {
	output, err := system.Check(ctx, p.host.Runner, "df", "-B1", "--output=avail", path)
	if err != nil {
		return 0, err
	}
	var bytes int64
	if _, err := fmt.Sscan(system.LastLine(output), &bytes); err != nil {
		return 0, fmt.Errorf("parsing the output of df, %q, for %s: %w", strings.TrimSpace(output), path, err)
	}
	return bytes, nil
}
