// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Upgrade runs "elemental upgrade". Its exit code means little: every failure inside the upgrade is 1, and 0 includes a full disk and failed
// stages of the toolkit's hooks. --strict would make such a stage end the upgrade, and is not used.
func (p *Plugin) Upgrade(ctx context.Context, request osplugin.Upgrade) (output osplugin.Output, err error) {
	release, err := p.alone(ctx)
	if err != nil {
		return output, err
	}
	defer release()
	command, err := p.upgradeCommand(request)
	if err != nil {
		return output, err
	}
	if err := p.keepState(ctx); err != nil {
		return output, err
	}
	if err := p.prepareState(); err != nil {
		return output, err
	}
	if err := p.leaveOldDefault(ctx); err != nil {
		return output, err
	}
	if err := p.bootBooted(ctx); err != nil {
		return output, fmt.Errorf("selecting the running snapshot for the next boot: %w", err)
	}
	result, err := p.runUpgrade(ctx, command)
	if err != nil {
		return output, err
	}
	// The port of the agent's registry changes with each run; messages must not.
	host, _, _ := strings.Cut(request.Image, "/")
	result.Stdout = strings.ReplaceAll(result.Stdout, host, "the agent's registry")
	result.Stderr = strings.ReplaceAll(result.Stderr, host, "the agent's registry")
	switch {
	case result.ExitCode == 0:
		return osplugin.Output{Warnings: warningsOf(result.Stdout), End: endOf(result)}, nil
	case result.ExitCode < 0:
		return output, errors.New("elemental upgrade was killed")
	}
	return output, fmt.Errorf("elemental upgrade: exit code %d: %s", result.ExitCode, reasonOf(result))
}

func (p *Plugin) upgradeCommand(request osplugin.Upgrade) (system.Command, error) {
	command := p.cli([]string{"upgrade"}, []string{
		"ELEMENTAL_UPGRADE_SYSTEM=oci:" + request.Image,
		"ELEMENTAL_UPGRADE_RECOVERY=" + strconv.FormatBool(request.Version.UpgradeRecovery),
		"ELEMENTAL_UPGRADE_SNAPSHOT_LABELS=" + correlationLabel + "=" + request.Attempt,
	})
	if request.Version.UpgradeRecovery {
		// The host's configuration of the CLI may name another image, which was not verified, and for which the space was not checked.
		command.Env = append(command.Env, "ELEMENTAL_UPGRADE_RECOVERY_SYSTEM=oci:"+request.Image)
	}
	if request.Version.Debug {
		command.Args = []string{"--debug", "upgrade"}
	}
	if !p.host.Real() {
		return command, nil
	}
	hooks, err := p.prepareRecord(request)
	command.Env = append(command.Env, hooks)
	return command, err
}

// runUpgrade runs the CLI and flushes what it wrote; ErrCorrupt if that fails.
func (p *Plugin) runUpgrade(ctx context.Context, command system.Command) (system.Result, error) {
	state, err := p.openState()
	if err != nil {
		return system.Result{}, err
	}
	result, err := p.host.Runner.Run(ctx, command)
	lost := state.sync()
	if err != nil {
		return result, fmt.Errorf("running elemental upgrade: %w", err)
	}
	if lost != nil {
		return result, fmt.Errorf("elemental upgrade: exit code %d: %w: not all of it has reached the disk: %w", result.ExitCode, osplugin.ErrCorrupt, lost)
	}
	return result, nil
}

func (p *Plugin) prepareState() error {
	state, err := p.readState()
	if err != nil {
		return err
	}
	return p.rememberSnapper(state)
}

// leaveOldDefault makes the running snapshot the default in place of an older one: the CLI may remove that one, and with it the link to the default,
// which is the new snapshot by then.
// Source: elemental-toolkit v2.3.2, pkg/snapshotter, LoopDevice.DeleteSnapshot.
func (p *Plugin) leaveOldDefault(ctx context.Context) error {
	booted, err := p.booted()
	if err != nil {
		return fmt.Errorf("selecting the running snapshot for the next boot: %w", err)
	}
	state, err := p.readState()
	if err != nil {
		return err
	}
	next, err := p.layout(state).next(ctx)
	if err != nil || next == 0 || next >= booted {
		return err
	}
	p.log.Info("Making the running snapshot the default in place of an older one", "snapshot", booted, "older", next)
	return p.replaceDefault(ctx, state, booted, 0)
}

// Written finds the snapshot of an attempt: recorded for it, made from the digest, with an image, and the default.
func (p *Plugin) Written(ctx context.Context, attempt, digest string) (int32, error) {
	state, err := p.readState()
	if err != nil {
		return 0, err
	}
	for id, recorded := range state.State.Snapshots {
		ours := recorded.Labels[correlationLabel] == attempt && recorded.Digest == digest
		if !ours || !p.layout(state).whole(id) {
			continue
		}
		if next, err := p.layout(state).next(ctx); err != nil || next == id {
			return id, err
		}
	}
	return 0, nil
}
