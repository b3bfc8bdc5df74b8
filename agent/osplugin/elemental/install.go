// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Installed is false on live media.
func (p *Plugin) Installed() bool { return p.mode() != osplugin.ModeLive }

// InstallHostname writes /oem/set-hostname.yaml.
func (p *Plugin) InstallHostname(_ context.Context, name string) error {
	return p.writeYip(hostnameConfig, yipFile{Stages: map[string][]yipStage{
		stageBoot: {{Name: "Host name", Hostname: literal(name), Commands: []literal{literal("echo " + name + " > /etc/hostname")}}},
	}})
}

// InstallFile writes /oem/set-file-<name>.yaml, which restores the file at every boot: /etc and, on some images, /var are not persistent.
func (p *Plugin) InstallFile(_ context.Context, file osplugin.File) error {
	name := strings.ReplaceAll(path.Base(file.Path), ".", "-")
	return p.writeYip(installedFilePrefix+name+".yaml", yipFile{Stages: map[string][]yipStage{
		stageBoot: writeFiles("Write "+file.Path, []yipContent{{Path: file.Path, Mode: file.Mode, Content: []byte(file.Content)}}),
	}})
}

// InstallCloudConfig writes /oem/set-cloud-config.yaml. A registration's cloud-config is in the engine's own format, templates included: it is
// passed on as it is.
func (p *Plugin) InstallCloudConfig(_ context.Context, config json.RawMessage) error {
	var content map[string]any
	if err := json.Unmarshal(config, &content); err != nil {
		return fmt.Errorf("decoding the registration's cloud-config: %w", err)
	}
	encoded, err := yaml.Marshal(content)
	if err != nil {
		return fmt.Errorf("encoding the registration's cloud-config: %w", err)
	}
	return system.WriteFile(p.host.Path(cloudConfig), append([]byte(cloudConfigHeader+"\n"+ownMark+"\n"), encoded...), 0o600)
}

// installOptions is the registration's spec.config.elemental.install, with the predecessor's keys. Defaults are in the configuration of the
// live media.
type installOptions struct {
	Device string `json:"device"`
	// DeviceSelector of the predecessor is not supported: it might select, and format, another disk than it does there.
	DeviceSelector   json.RawMessage `json:"deviceSelector"`
	SystemURI        string          `json:"systemUri"`
	RecoveryURI      string          `json:"recoverySystemUri"`
	Firmware         string          `json:"firmware"`
	ISO              string          `json:"iso"`
	Snapshotter      snapshotter     `json:"snapshotter"`
	ConfigURLs       []string        `json:"configUrls"`
	NoFormat         bool            `json:"noFormat"`
	DisableBootEntry bool            `json:"disableBootEntry"`
	EjectCD          bool            `json:"ejectCd"`
	ConfigDir        string          `json:"configDir"`
	Debug            bool            `json:"debug"`
}

// snapshotter is an object, {"type": "btrfs"}, as for the predecessor, or the bare name.
type snapshotter struct {
	Type string `json:"type"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *snapshotter) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &s.Type) == nil {
		return nil
	}
	type object snapshotter
	return json.Unmarshal(raw, (*object)(s))
}

// Install runs "elemental install" on live media, with the files of InstallHostname, InstallFile and InstallCloudConfig. On an installed
// host, where it is called after a reset, it does nothing. It can be repeated: an interrupted installation starts over, and a completed one
// is not repeated in this boot of the media.
func (p *Plugin) Install(ctx context.Context, raw json.RawMessage) error {
	if p.Installed() {
		p.log.Info("The host does not run from live media: its OS is installed already")
		return nil
	}
	mark := p.host.Path(installedMark)
	if _, err := os.Stat(mark); err == nil {
		p.log.Info("The OS has been installed since the live media was booted: boot from disk")
		return nil
	}
	options := installOptions{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &options); err != nil {
			return fmt.Errorf("decoding the registration's install options: %w", err)
		}
	}
	if options.Device == "" && len(options.DeviceSelector) > 0 {
		return fmt.Errorf("deviceSelector of the registration's spec.config.elemental.install: %w: name the device instead", osplugin.ErrUnsupported)
	}
	if err := p.unmountInstall(ctx); err != nil {
		return err
	}
	if err := p.runInstall(ctx, options); err != nil {
		return err
	}
	return system.WriteFile(mark, nil, 0o600)
}

// unmountInstall unmounts what a killed "elemental install" left mounted: the next one cannot partition a disk in use, and does not unmount
// it.
func (p *Plugin) unmountInstall(ctx context.Context) error {
	mounts, err := p.host.Mounts()
	if err != nil {
		return err
	}
	return p.unmount(ctx, mounts, func(target string) bool {
		return slices.ContainsFunc(installMounts, func(own string) bool { return within(target, own) })
	})
}

// runInstall relies on the exit code: the result is not visible before it is booted.
func (p *Plugin) runInstall(ctx context.Context, options installOptions) error {
	release, err := p.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	written, err := filepath.Glob(p.host.Path(installedFilePattern))
	if err != nil {
		return err
	}
	result, err := p.host.Runner.Run(ctx, p.cli(options.arguments(), options.environment(written)))
	if err != nil {
		return fmt.Errorf("running elemental install: %w", err)
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("elemental install: exit code %d: %s; see spec.config.elemental.install of the ElementalRegistration",
			result.ExitCode, reasonOf(result))
	}
	return nil
}

func (o installOptions) arguments() []string {
	arguments := []string{}
	if o.Debug {
		arguments = append(arguments, "--debug")
	}
	if o.ConfigDir != "" {
		arguments = append(arguments, "--config-dir", o.ConfigDir)
	}
	return append(arguments, "install")
}

// environment of the CLI, which copies the files in CLOUD_INIT into the OEM partition of what it installs.
// Source: elemental-toolkit, pkg/constants.
func (o installOptions) environment(written []string) []string {
	set := []string{"ELEMENTAL_INSTALL_CLOUD_INIT=" + strings.Join(append(slices.Clone(o.ConfigURLs), written...), ",")}
	for _, option := range []struct{ name, value string }{
		{"ELEMENTAL_INSTALL_TARGET", o.Device},
		{"ELEMENTAL_INSTALL_SYSTEM", o.SystemURI},
		{"ELEMENTAL_INSTALL_RECOVERY_SYSTEM", o.RecoveryURI},
		{"ELEMENTAL_INSTALL_FIRMWARE", o.Firmware},
		{"ELEMENTAL_INSTALL_ISO", o.ISO},
		{"ELEMENTAL_SNAPSHOTTER_TYPE", o.Snapshotter.Type},
	} {
		if option.value != "" {
			set = append(set, option.name+"="+option.value)
		}
	}
	for _, option := range []struct {
		name string
		yes  bool
	}{
		{"ELEMENTAL_INSTALL_NO_FORMAT", o.NoFormat},
		{"ELEMENTAL_INSTALL_DISABLE_BOOT_ENTRY", o.DisableBootEntry},
		{"ELEMENTAL_EJECT_CD", o.EjectCD},
	} {
		if option.yes {
			set = append(set, option.name+"=true")
		}
	}
	return set
}
