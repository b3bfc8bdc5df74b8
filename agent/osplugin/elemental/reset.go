// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// resetOptions is the registration's spec.config.elemental.reset, with the predecessor's keys. Unless it
// says otherwise the persistent partition is formatted: what a host knows of the cluster it was in, its
// kubelet's credentials among it, is not for the next.
type resetOptions struct {
	ResetPersistent bool     `json:"resetPersistent"`
	ResetOEM        bool     `json:"resetOem"`
	ConfigURLs      []string `json:"configUrls"`
	SystemURI       string   `json:"systemUri"`
	Debug           bool     `json:"debug"`
}

// TriggerReset makes the next boot go to recovery and reset the host there.
func (p *Plugin) TriggerReset(ctx context.Context) error {
	if err := p.keepForRecovery(); err != nil {
		return err
	}
	err := p.writeYip(resetConfig, yipFile{Name: "Elemental reset", Stages: map[string][]yipStage{
		stageNetwork: {{
			Name: "Reset the host and register it anew",
			If:   "[ -f " + fmt.Sprintf(modePattern, osplugin.ModeRecovery) + " ]",
			Commands: []string{
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

// AbandonReset removes the file that resets the host in recovery. One that lost power after its persistent partition was
// formatted has it still, and would be reset whenever its recovery system is booted.
func (p *Plugin) AbandonReset(context.Context) error {
	return system.RemoveFile(p.host.Path(resetConfig))
}

// keepForRecovery copies who the host is and how it reaches the API to /oem: the recovery system mounts
// neither /etc nor /var.
func (p *Plugin) keepForRecovery() error {
	copies := map[string]string{
		p.configPath: keptAgentConfig,
		filepath.Join(p.workDir, identity.KeyFile):  filepath.Join(keptDir, identity.KeyFile),
		filepath.Join(p.workDir, identity.NameFile): filepath.Join(keptDir, identity.NameFile),
	}
	for from, to := range copies {
		content, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("keeping %s for the recovery system: %w", from, err)
		}
		if err := system.WriteFile(p.host.Path(to), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Reset runs "elemental reset" and puts the agent's configuration back. Its exit code is trusted: what
// it does is not seen until the next boot.
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
	configuration, err := p.keptConfig()
	if err != nil {
		return err
	}
	if err := p.runReset(ctx, options); err != nil {
		return err
	}
	return p.afterReset(ctx, configuration)
}

// keptConfig reads the agent's configuration, wherever a reset that was cut off has left it.
func (p *Plugin) keptConfig() ([]byte, error) {
	for _, path := range []string{p.configPath, p.host.Path(keptAgentConfig)} {
		content, err := os.ReadFile(path)
		if err == nil {
			return content, nil
		}
		if !os.IsNotExist(err) {
			return nil, fmt.Errorf("reading the agent's configuration: %w", err)
		}
	}
	return nil, errors.New("the agent's configuration is neither in " + p.configPath + " nor in " + keptAgentConfig)
}

func (p *Plugin) runReset(ctx context.Context, options resetOptions) error {
	command := system.Command{Name: "elemental", Args: []string{"reset"}, Env: []string{
		"ELEMENTAL_RESET_CLOUD_INIT=" + strings.Join(options.ConfigURLs, ","),
		"ELEMENTAL_RESET_SYSTEM=" + options.SystemURI,
		"ELEMENTAL_RESET_PERSISTENT=" + strconv.FormatBool(options.ResetPersistent),
		"ELEMENTAL_RESET_OEM=" + strconv.FormatBool(options.ResetOEM),
	}}
	if options.Debug {
		command.Args = []string{"--debug", "reset"}
	}
	result, err := p.host.Runner.Run(ctx, command)
	if err != nil {
		return fmt.Errorf("running elemental reset: %w", err)
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("elemental reset: exit code %d: %s", result.ExitCode, system.LastLine(result.Stderr))
	}
	return nil
}

// afterReset: the CLI leaves /oem unmounted, and with it all that the agent wants to last.
func (p *Plugin) afterReset(ctx context.Context, configuration []byte) error {
	table, err := p.host.ReadTrimmed(mountsFile)
	if err != nil {
		return err
	}
	if table != "" && !strings.Contains(table, " "+oemDir+" ") {
		if _, err := system.Check(ctx, p.host.Runner, "mount", p.host.Path(oemDir)); err != nil {
			return fmt.Errorf("mounting %s again: %w", oemDir, err)
		}
	}
	if err := p.removeOwn(); err != nil {
		return err
	}
	for _, path := range []string{p.configPath, p.host.Path(keptAgentConfig)} {
		if err := system.WriteFile(path, configuration, 0o600); err != nil {
			return err
		}
	}
	return p.flush()
}

// removeOwn removes what the agent had left in /oem for the former life of the host.
func (p *Plugin) removeOwn() error {
	own, err := filepath.Glob(p.host.Path(installedFilePattern))
	if err != nil {
		return err
	}
	copied, err := p.copiedOwn()
	if err != nil {
		return err
	}
	own = append(append(own, copied...), p.host.Path(bootstrapConfig), p.host.Path(resetConfig),
		p.host.Path(keptDir+"/"+identity.KeyFile), p.host.Path(keptDir+"/"+identity.NameFile))
	for _, path := range own {
		if err := system.RemoveFile(path); err != nil {
			return err
		}
	}
	return nil
}

// copiedOwn are the files that the host was installed with from live media, without those of the registration's configUrls.
func (p *Plugin) copiedOwn() ([]string, error) {
	custom, err := filepath.Glob(p.host.Path(customFilePattern))
	if err != nil {
		return nil, err
	}
	var own []string
	for _, path := range custom {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("looking for the agent's own files: %w", err)
		}
		if slices.Contains(strings.Split(string(content), "\n"), ownMark) {
			own = append(own, path)
		}
	}
	return own, nil
}
