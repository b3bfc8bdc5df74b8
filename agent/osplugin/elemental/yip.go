// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Stages of a boot in which yip files take effect.
const (
	stageBoot         = "boot"
	stageNetwork      = "network"
	stageNetworkAfter = "network.after"
)

// yipFile is a file in /oem, with the fields that the agent uses.
// Source: https://github.com/rancher/yip, package schema.
type yipFile struct {
	Name   string                `yaml:"name"`
	Stages map[string][]yipStage `yaml:"stages"`
}

type yipStage struct {
	Name     string              `yaml:"name,omitempty"`
	If       string              `yaml:"if,omitempty"`
	Hostname string              `yaml:"hostname,omitempty"`
	Files    []yipContent        `yaml:"files,omitempty"`
	Users    map[string]yipUser  `yaml:"users,omitempty"`
	Keys     map[string][]string `yaml:"authorized_keys,omitempty"`
	Commands []string            `yaml:"commands,omitempty"`
}

type yipContent struct {
	Path        string `yaml:"path"`
	Permissions uint32 `yaml:"permissions"`
	Owner       int    `yaml:"owner"`
	Group       int    `yaml:"group"`
	OwnerString string `yaml:"ownerstring,omitempty"`
	Content     string `yaml:"content"`
	Encoding    string `yaml:"encoding,omitempty"`
}

type yipUser struct {
	PasswordHash string   `yaml:"passwd,omitempty"`
	Groups       []string `yaml:"groups,omitempty"`
	Homedir      string   `yaml:"homedir,omitempty"`
	Shell        string   `yaml:"shell,omitempty"`
	LockPasswd   bool     `yaml:"lock_passwd,omitempty"`
	Keys         []string `yaml:"ssh_authorized_keys,omitempty"`
}

// writeYip writes a file to /oem. Such files contain keys and join tokens: only root may read them.
func (p *Plugin) writeYip(path string, file yipFile) error {
	content, err := yaml.Marshal(file)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	if err := os.MkdirAll(p.host.Path(oemDir), 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", oemDir, err)
	}
	return system.WriteFile(p.host.Path(path), append([]byte(ownMark+"\n"), content...), 0o600)
}
