// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Installed is false on live media.
func (p *Plugin) Installed() bool { return p.mode() != osplugin.ModeLive }

// InstallHostname writes /oem/set-hostname.yaml.
func (p *Plugin) InstallHostname(_ context.Context, name string) error {
	return p.writeYip(hostnameConfig, yipFile{Name: "Host name", Stages: map[string][]yipStage{
		stageBoot: {{Hostname: name, Commands: []string{"echo " + name + " > /etc/hostname"}}},
	}})
}

// InstallFile writes /oem/set-<name>.yaml, which puts the file back at every boot: /etc and, on some
// images, /var do not last.
func (p *Plugin) InstallFile(_ context.Context, file osplugin.File) error {
	name := strings.ReplaceAll(path.Base(file.Path), ".", "-")
	return p.writeYip(oemDir+"/set-"+name+".yaml", yipFile{Name: "Write " + file.Path, Stages: map[string][]yipStage{
		stageBoot: {{Files: []yipContent{{Path: file.Path, Permissions: file.Mode, Content: file.Content}}}},
	}})
}

// InstallCloudConfig writes /oem/set-cloud-config.yaml.
func (p *Plugin) InstallCloudConfig(_ context.Context, config json.RawMessage) error {
	var content map[string]any
	if err := json.Unmarshal(config, &content); err != nil {
		return fmt.Errorf("decoding the registration's cloud-config: %w", err)
	}
	encoded, err := yaml.Marshal(content)
	if err != nil {
		return fmt.Errorf("encoding the registration's cloud-config: %w", err)
	}
	return system.WriteFile(p.host.Path(cloudConfig), append([]byte(cloudConfigHeader+"\n"), encoded...), 0o600)
}

// Install does nothing on an installed host, where it is called after a reset.
func (p *Plugin) Install(context.Context, json.RawMessage) error {
	if p.Installed() {
		p.log.Info("The host does not run from live media: its OS is installed already")
		return nil
	}
	return fmt.Errorf("installing from live media: %w yet: install the OS with \"elemental install\", "+
		"put the agent's configuration in place and run \"elemental-agent register --install\"", osplugin.ErrUnsupported)
}
