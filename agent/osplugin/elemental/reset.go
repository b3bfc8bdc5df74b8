// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// resetOptions is the registration's spec.config.elemental.reset, with the predecessor's keys. By default the persistent partition is
// formatted: data of the former cluster, including the kubelet's credentials, must not reach the next.
type resetOptions struct {
	ResetPersistent bool     `json:"resetPersistent"`
	ResetOEM        bool     `json:"resetOem"`
	ConfigURLs      []string `json:"configUrls"`
	SystemURI       string   `json:"systemUri"`
	Debug           bool     `json:"debug"`
}

// TriggerReset makes the next boot go to recovery and reset the host there. The step is in a stage after that of the network: the steps that
// configure it have ended.
func (p *Plugin) TriggerReset(ctx context.Context) error {
	if err := p.keepConfig(); err != nil {
		return err
	}
	err := p.writeYip(resetConfig, yipFile{Stages: map[string][]yipStage{
		stageNetworkAfter: {{
			Name: "Reset the host and register it again",
			If:   literal("[ -f " + fmt.Sprintf(modePattern, osplugin.ModeRecovery) + " ]"),
			Commands: []literal{
				"elemental-agent reset --config " + keptAgentConfig,
				"systemctl reboot",
			},
		}},
	}})
	if err != nil {
		return err
	}
	return p.editGrub(ctx, map[string]string{nextEntry: recoveryEntry})
}

// AbandonReset removes the file that resets the host in recovery. A host that lost power after its persistent partition was formatted still
// has it, and would be reset whenever its recovery system is booted.
func (p *Plugin) AbandonReset(context.Context) error {
	return system.RemoveFile(p.host.Path(resetConfig))
}

// ResetDir is on the OEM partition: the recovery system mounts neither /etc nor /var.
func (p *Plugin) ResetDir() string { return p.host.Path(keptDir) }

// RecoveryDir is on the recovery partition.
func (p *Plugin) RecoveryDir() string { return filepath.Join(p.statePath(), recoveryKeptDir) }

func (p *Plugin) recoveryConfig() string {
	return filepath.Join(p.RecoveryDir(), filepath.Base(keptAgentConfig))
}

// keepConfig copies the agent's configuration to where the recovery system finds it.
func (p *Plugin) keepConfig() error {
	content, err := os.ReadFile(p.configPath)
	if err != nil {
		return fmt.Errorf("copying %s for the recovery system: %w", p.configPath, err)
	}
	return system.WriteFile(p.host.Path(keptAgentConfig), content, 0o600)
}

// Reset runs "elemental reset" and relies on its exit code, since the result is not visible before the next boot. The agent's configuration
// is stored before, because the next boot may be into the new system as soon as that is written.
func (p *Plugin) Reset(ctx context.Context, raw json.RawMessage) error {
	if p.mode() != osplugin.ModeRecovery {
		return fmt.Errorf("resetting outside of the recovery system: %w: boot it first (grub2-editenv %s set %s=%s)",
			osplugin.ErrUnsupported, grubEnv, nextEntry, recoveryEntry)
	}
	options := resetOptions{ResetPersistent: true}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &options); err != nil {
			return fmt.Errorf("decoding the registration's reset options: %w", err)
		}
	}
	release, err := p.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	configuration, err := p.keptConfig()
	if err != nil {
		return err
	}
	// The only copy of it must not be on a partition that a failed reset leaves unmounted or half formatted.
	if err := system.WriteFile(p.recoveryConfig(), configuration, 0o600); err != nil {
		return err
	}
	if err := p.prepareOEM(ctx, options, configuration); err != nil {
		return err
	}
	if err := p.runReset(ctx, options); err != nil {
		return err
	}
	return p.afterReset(configuration)
}

// prepareOEM leaves what the reset host needs on the OEM partition and, if that is to be reset, removes everything else. The CLI would
// format the partition instead, and a power cut would lose the host's identity and the pending reset.
func (p *Plugin) prepareOEM(ctx context.Context, options resetOptions, configuration []byte) error {
	remove := p.removeOwn
	if options.ResetOEM {
		remove = p.emptyOEM
	}
	if err := remove(); err != nil {
		return err
	}
	if err := system.WriteFile(p.host.Path(keptAgentConfig), configuration, 0o600); err != nil {
		return err
	}
	file := osplugin.File{Path: config.DefaultPath, Mode: 0o600, Content: string(configuration)}
	if err := p.InstallFile(ctx, file); err != nil {
		return err
	}
	return p.flush()
}

// keptConfig reads the agent's configuration, wherever an interrupted reset left it.
func (p *Plugin) keptConfig() ([]byte, error) {
	for _, path := range []string{p.configPath, p.host.Path(keptAgentConfig), p.recoveryConfig()} {
		content, err := os.ReadFile(path)
		if err == nil {
			return content, nil
		}
		if !os.IsNotExist(err) {
			return nil, fmt.Errorf("reading the agent's configuration: %w", err)
		}
	}
	return nil, fmt.Errorf("the agent's configuration is neither in %s nor in %s nor in %s", p.configPath, keptAgentConfig, p.recoveryConfig())
}

// emptyOEM removes everything but GRUB's variables and the files of the reset.
func (p *Plugin) emptyOEM() error {
	entries, err := os.ReadDir(p.host.Path(oemDir))
	if err != nil {
		return fmt.Errorf("emptying %s: %w", oemDir, err)
	}
	for _, entry := range entries {
		if slices.Contains(survivors, entry.Name()) {
			continue
		}
		if err := system.RemoveTree(p.host.Path(oemDir), entry.Name()); err != nil {
			return fmt.Errorf("emptying %s: %w", oemDir, err)
		}
	}
	return nil
}

// removeOwn removes the files that the agent wrote to /oem for the former host.
func (p *Plugin) removeOwn() error {
	own, err := filepath.Glob(p.host.Path(installedFilePattern))
	if err != nil {
		return err
	}
	copied, err := p.copiedOwn()
	if err != nil {
		return err
	}
	own = append(append(own, copied...), p.host.Path(bootstrapConfig))
	for _, path := range own {
		if err := system.RemoveFile(path); err != nil {
			return err
		}
	}
	return nil
}

// copiedOwn returns the files with which the host was installed from live media, without those of the registration's configUrls.
func (p *Plugin) copiedOwn() ([]string, error) {
	custom, err := filepath.Glob(p.host.Path(customFilePattern))
	if err != nil {
		return nil, err
	}
	var own []string
	for _, path := range custom {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("finding the agent's own files: %w", err)
		}
		if slices.Contains(strings.Split(string(content), "\n"), ownMark) {
			own = append(own, path)
		}
	}
	return own, nil
}
