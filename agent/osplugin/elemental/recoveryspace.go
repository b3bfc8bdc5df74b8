// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// packedRecovery is the file system of a compressed recovery system, which is the default unless state.yaml has another one.
// Source: elemental-toolkit v2.3.2, pkg/config, getRecoveryState.
const packedRecovery = "squashfs"

const (
	mountRecovery = `mount -o ro "$1" "$2" && `
	// measureRecovery prints the free blocks of a partition and their size, including those reserved for root, as which the CLI runs, and
	// the size of an unfinished recovery system, which the CLI removes before it writes another.
	measureRecovery = `stat --file-system --format="%f %S" "$2" && { [ ! -e "$2/boot-transition" ] || du -s -B1 "$2/boot-transition"; }`
)

// RecoverySpace mounts the recovery partition in a private namespace, unless it is mounted. The space is unknown beneath another root than
// the machine's, and if the partition cannot be mounted: then the CLI fails, and reports why.
func (p *Plugin) RecoverySpace(ctx context.Context) (osplugin.RecoverySpace, error) {
	if !p.host.Real() {
		return osplugin.RecoverySpace{}, nil
	}
	state, err := p.readState()
	if err != nil {
		return osplugin.RecoverySpace{}, err
	}
	command, err := p.measuring(p.host.Path(byLabel + cmp.Or(state.Recovery.Label, recoveryLabel)))
	if err != nil {
		return osplugin.RecoverySpace{}, err
	}
	result, err := p.host.Runner.Run(ctx, command)
	if err != nil {
		return osplugin.RecoverySpace{}, fmt.Errorf("measuring the recovery partition: %w", err)
	}
	free, err := freeOf(result.Stdout)
	if result.ExitCode != 0 || err != nil {
		p.log.Warn("Cannot determine the free space of the recovery partition", "exitCode", result.ExitCode, "reason", system.LastLine(result.Stderr), "error", err)
		return osplugin.RecoverySpace{}, nil
	}
	packed := cmp.Or(state.Recovery.Recovery.FS, packedRecovery) == packedRecovery
	return osplugin.RecoverySpace{Known: true, Free: free, Packed: packed}, nil
}

// measuring returns the command that measures a partition, mounted or not: a second, read-only mount beside a writable one fails.
func (p *Plugin) measuring(partition string) (system.Command, error) {
	mounts, err := p.host.Mounts()
	if err != nil {
		return system.Command{}, err
	}
	device := deviceNumber(partition)
	for _, each := range mounts {
		if device != "" && each.Device == device && each.Root == "/" {
			return system.Command{Name: "sh", Args: []string{"-c", measureRecovery, "sh", partition, each.Target}, Timeout: measureTimeout}, nil
		}
	}
	if err := os.MkdirAll(p.host.Path(recoveryDir), 0o755); err != nil {
		return system.Command{}, fmt.Errorf("measuring the recovery partition: %w", err)
	}
	script := mountRecovery + measureRecovery
	return system.Command{Name: "sh", Args: []string{"-c", script, "sh", partition, p.host.Path(recoveryDir)}, Private: true, Timeout: measureTimeout}, nil
}

// measureTimeout is how long measuring the partition may take.
const measureTimeout = time.Minute

// freeOf parses the output of stat, followed by that of du.
func freeOf(said string) (int64, error) {
	var blocks, size, unfinished int64
	if n, err := fmt.Sscan(said, &blocks, &size, &unfinished); n < 2 {
		return 0, fmt.Errorf("parsing the output of stat and du, %q: %w", said, err)
	}
	return blocks*size + unfinished, nil
}
