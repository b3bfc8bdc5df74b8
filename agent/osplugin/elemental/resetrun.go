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

// runReset runs "elemental reset". The CLI unmounts /oem and the EFI partition before it formats anything, and mounts them anew: in
// a mount namespace of its own, so that they are where they were for the agent, whatever becomes of it.
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
		// The next boot has none of these mounts, and a reset that went well is not to be repeated.
		p.log.Warn("Unmounting what the reset has left failed", "error", left)
	}
	return errors.Join(err, p.mountOEM(ctx))
}

// beforeReset lets go of what the CLI formats: it would unmount that where it runs only, and the kernel does not let a file system
// be made on what is mounted anywhere. The EFI partition is made writable, since it cannot be mounted read-only and writable at once.
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

// formattedTargets are where partitions are mounted that a reset formats.
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

// mountOEM mounts /oem again where a CLI without a mount namespace of its own has left it unmounted, and with it all that the
// agent wants to last.
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

// afterReset leaves the agent's configuration to the next life of the host.
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
