// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// runReset runs "elemental reset", which unmounts /oem and the EFI partition before it formats anything, and mounts them again. It runs in a
// mount namespace of its own, so that the agent's mounts stay as they are, however it ends.
func (p *Plugin) runReset(ctx context.Context, options resetOptions) error {
	if err := p.beforeReset(ctx, options); err != nil {
		return err
	}
	command := p.cli([]string{"reset"}, []string{
		"ELEMENTAL_RESET_CLOUD_INIT=" + strings.Join(options.ConfigURLs, ","),
		"ELEMENTAL_RESET_SYSTEM=" + options.SystemURI,
		"ELEMENTAL_RESET_PERSISTENT=" + strconv.FormatBool(options.ResetPersistent),
		"ELEMENTAL_RESET_OEM=false",
	})
	if options.Debug {
		command.Args = []string{"--debug", "reset"}
	}
	result, err := p.host.Runner.Run(ctx, command)
	switch {
	case err != nil:
		err = fmt.Errorf("running elemental reset: %w", err)
	case result.ExitCode != 0:
		err = fmt.Errorf("elemental reset: exit code %d: %s", result.ExitCode, reasonOf(result))
	}
	if left := p.cleanMounts(ctx); left != nil {
		// Not an error: the next boot has none of these mounts, and a successful reset must not be repeated.
		p.log.Warn("Unmounting the remains of the reset failed", "error", left)
	}
	return errors.Join(err, p.mountOEM(ctx))
}

// beforeReset unmounts what the CLI formats: the CLI would unmount it in its own namespace only, and the kernel refuses to format what is
// mounted anywhere. The EFI partition is remounted writable, since it cannot be mounted read-only and writable at once.
func (p *Plugin) beforeReset(ctx context.Context, options resetOptions) error {
	if err := p.cleanMounts(ctx); err != nil {
		return err
	}
	if err := p.detachLoops(ctx); err != nil {
		return err
	}
	mounts, err := p.host.Mounts()
	if err != nil {
		return err
	}
	formatted, err := p.formattedTargets(mounts, options)
	if err != nil {
		return err
	}
	err = p.unmount(ctx, mounts, func(target string) bool {
		return slices.ContainsFunc(formatted, func(own string) bool { return within(target, own) })
	})
	if err != nil {
		return err
	}
	if efi, found := system.MountedAt(mounts, efiDir); found && slices.Contains(efi.Options, "ro") {
		_, err = system.Check(ctx, p.host.Runner, "mount", "-o", "remount,rw", p.host.Path(efiDir))
	}
	return err
}

// formattedTargets are the mount points of the partitions that a reset formats.
func (p *Plugin) formattedTargets(mounts []system.Mount, options resetOptions) ([]string, error) {
	state, err := p.readState()
	if err != nil {
		return nil, err
	}
	devices := []string{p.partition(state.State.Label, stateLabel)}
	if options.ResetPersistent {
		devices = append(devices, p.partition(state.Persistent.Label, persistentLabel))
	}
	var targets []string
	for _, each := range mounts {
		if each.Device != "" && slices.Contains(devices, each.Device) {
			targets = append(targets, each.Target)
		}
	}
	return targets, nil
}

// mountOEM mounts /oem, with all persistent files of the agent, if a CLI without a mount namespace of its own left it unmounted.
func (p *Plugin) mountOEM(ctx context.Context) error {
	mounts, err := p.host.Mounts()
	if err != nil {
		return err
	}
	if _, mounted := system.MountedAt(mounts, oemDir); mounted {
		return nil
	}
	if _, err := system.Check(ctx, p.host.Runner, "mount", p.host.Path(oemDir)); err != nil {
		return fmt.Errorf("mounting %s again: %w", oemDir, err)
	}
	return nil
}

// afterReset stores the agent's configuration for the reset host.
func (p *Plugin) afterReset(configuration []byte) error {
	if err := system.RemoveFile(p.host.Path(resetConfig)); err != nil {
		return err
	}
	for _, path := range []string{p.configPath, p.host.Path(keptAgentConfig)} {
		if err := system.WriteFile(path, configuration, 0o600); err != nil {
			return err
		}
	}
	return p.flush()
}
