// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"encoding/base64"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Stages of a boot in which yip files take effect. The engine runs one after the other. Within a stage, the steps of one file run in their
// order, but they need not wait for those of a file before it: a file in between that has no step for the stage separates the two.
const (
	stageBoot         = "boot"
	stageNetworkAfter = "network.after"
)

// yipFile is a file in /oem, with the fields that the agent uses. It has no name: the engine then names its steps after its path, which is
// unique, and steps of the same name may not wait for each other, or not run at all.
// Source: https://github.com/rancher/yip, package schema.
type yipFile struct {
	Stages map[string][]yipStage `yaml:"stages"`
}

// yipStage is a step of a stage. The engine writes its files first, then runs its commands, and then sets the host name and adds users and
// keys.
type yipStage struct {
	Name     string              `yaml:"name,omitempty"`
	If       literal             `yaml:"if,omitempty"`
	Hostname literal             `yaml:"hostname,omitempty"`
	Files    []yipContent        `yaml:"files,omitempty"`
	Users    map[string]yipUser  `yaml:"users,omitempty"`
	Keys     map[string][]string `yaml:"authorized_keys,omitempty"`
	Commands []literal           `yaml:"commands,omitempty"`
}

// literal is text that arrives as it is, although the engine renders it as a Go template.
type literal string

// MarshalYAML implements yaml.Marshaler.
func (l literal) MarshalYAML() (any, error) { return escape(string(l)), nil }

// escape returns the template that is rendered as text.
func escape(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

// yipContent is a file whose bytes arrive as they are.
type yipContent struct {
	Path string
	// Mode of the file, with the bits for setuid, setgid and sticky.
	Mode uint32
	// Owner and group by name, with a colon in between; empty for root's.
	Owner   string
	Content []byte
}

// MarshalYAML implements yaml.Marshaler. The engine decodes the content before it renders it.
func (c yipContent) MarshalYAML() (any, error) {
	return struct {
		Path        string `yaml:"path"`
		Permissions uint32 `yaml:"permissions"`
		OwnerString string `yaml:"ownerstring,omitempty"`
		Encoding    string `yaml:"encoding"`
		Content     string `yaml:"content"`
	}{c.Path, c.Mode & permissionBits, c.Owner, "base64", base64.StdEncoding.EncodeToString([]byte(escape(string(c.Content))))}, nil
}

// permissionBits are the bits of a mode that the engine sets.
const permissionBits = 0o777

type yipUser struct {
	PasswordHash string   `yaml:"passwd,omitempty"`
	Keys         []string `yaml:"ssh_authorized_keys,omitempty"`
	GECOS        string   `yaml:"gecos,omitempty"`
	Homedir      string   `yaml:"homedir,omitempty"`
	NoCreateHome bool     `yaml:"no_create_home,omitempty"`
	PrimaryGroup string   `yaml:"primary_group,omitempty"`
	Groups       []string `yaml:"groups,omitempty"`
	Shell        string   `yaml:"shell,omitempty"`
	UID          string   `yaml:"uid,omitempty"`
	LockPasswd   bool     `yaml:"lock_passwd,omitempty"`
}

// writeFiles are the steps that write files. Directories that are missing get mode 0755: the engine would make them with the mode of the
// file, and root alone could enter them.
func writeFiles(name string, files []yipContent) []yipStage {
	if len(files) == 0 {
		return nil
	}
	directories, written := yipStage{Name: name + ": directories"}, yipStage{Name: name, Files: files}
	for _, file := range files {
		command := literal("umask 022 && mkdir -p " + quote(path.Dir(file.Path)))
		if !slices.Contains(directories.Commands, command) {
			directories.Commands = append(directories.Commands, command)
		}
		if file.Mode > permissionBits {
			written.Commands = append(written.Commands, literal(fmt.Sprintf("chmod %o %s", file.Mode, quote(file.Path))))
		}
	}
	return []yipStage{directories, written}
}

// quote makes an argument of a shell out of text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

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
