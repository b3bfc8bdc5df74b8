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

// packedRecovery is the file system of a recovery system that is compressed, which it is unless state.yaml says otherwise.
// Source: elemental-toolkit v2.3.2, pkg/config, getRecoveryState.
const packedRecovery = "squashfs"

const (
	mountRecovery = `mount -o ro "$1" "$2" && `
	// measureRecovery prints the free blocks of a partition and their size, those among them that are reserved for root, whom the CLI runs as, and
	// what a recovery system takes there that was not finished: the CLI removes it before it writes another.
	measureRecovery = `stat --file-system --format="%f %S" "$2" && { [ ! -e "$2/boot-transition" ] || du -s -B1 "$2/boot-transition"; }`
)

// RecoverySpace mounts the recovery partition where nobody else sees that, unless it is mounted. It is not known beneath a root that is not
// the machine's, and of a partition that cannot be mounted: there the CLI fails, and says why.
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
		p.log.Warn("The free space of the recovery partition cannot be told", "exitCode", result.ExitCode, "reason", system.LastLine(result.Stderr), "error", err)
		return osplugin.RecoverySpace{}, nil
	}
	packed := cmp.Or(state.Recovery.Recovery.FS, packedRecovery) == packedRecovery
	return osplugin.RecoverySpace{Known: true, Free: free, Packed: packed}, nil
}

// measuring is the command that measures a partition, where it is mounted or not: it cannot be mounted read-only beside a mount that is not.
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

// measureTimeout is how long the partition may take to answer.
const measureTimeout = time.Minute

// freeOf what stat has said, with what du has said after it.
func freeOf(said string) (int64, error) {
	var blocks, size, unfinished int64
	if n, err := fmt.Sscan(said, &blocks, &size, &unfinished); n < 2 {
		return 0, fmt.Errorf("stat and du said %q: %w", said, err)
	}
	return blocks*size + unfinished, nil
}
