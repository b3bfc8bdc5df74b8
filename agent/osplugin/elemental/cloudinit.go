// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const cloudConfigHeader = "#cloud-config"

// cloudInit is the supported part of a cloud-config.
// Source: https://cloudinit.readthedocs.io, "Module reference".
type cloudInit struct {
	Hostname string          `yaml:"hostname"`
	Files    []cloudInitFile `yaml:"write_files"`
	Users    []yaml.Node     `yaml:"users"`
	Keys     []string        `yaml:"ssh_authorized_keys"`
	BootCmd  []yaml.Node     `yaml:"bootcmd"`
	RunCmd   []yaml.Node     `yaml:"runcmd"`
	// Rest are the unsupported keys.
	Rest map[string]yaml.Node `yaml:",inline"`
}

type cloudInitFile struct {
	Path        string `yaml:"path"`
	Owner       string `yaml:"owner"`
	Permissions string `yaml:"permissions"`
	Encoding    string `yaml:"encoding"`
	Content     string `yaml:"content"`
	Append      bool   `yaml:"append"`
}

type cloudInitUser struct {
	Name         string    `yaml:"name"`
	Passwd       string    `yaml:"passwd"`
	HashedPasswd string    `yaml:"hashed_passwd"`
	Groups       yaml.Node `yaml:"groups"`
	Homedir      string    `yaml:"homedir"`
	Shell        string    `yaml:"shell"`
	LockPasswd   bool      `yaml:"lock_passwd"`
	Keys         []string  `yaml:"ssh_authorized_keys"`
}

// defaultFileMode is cloud-init's default for files.
const defaultFileMode = 0o644

// convert converts a cloud-config into a stage of a yip file, and lists the keys without a counterpart. Lines before the header (a jinja
// marker, comments) are dropped.
func convert(config string) (stage yipStage, ignored []string, err error) {
	if start := strings.Index(config, cloudConfigHeader); start >= 0 {
		config = config[start:]
	}
	parsed := cloudInit{}
	if err := yaml.Unmarshal([]byte(config), &parsed); err != nil {
		return stage, nil, fmt.Errorf("decoding the cloud-config: %w", err)
	}
	stage = yipStage{Hostname: parsed.Hostname}
	if stage.Files, err = convertFiles(parsed.Files); err != nil {
		return stage, nil, err
	}
	if stage.Users, err = convertUsers(parsed.Users); err != nil {
		return stage, nil, err
	}
	if len(parsed.Keys) > 0 {
		stage.Keys = map[string][]string{"root": parsed.Keys}
	}
	stage.Commands, err = convertCommands(append(parsed.BootCmd, parsed.RunCmd...))
	for key := range parsed.Rest {
		ignored = append(ignored, key)
	}
	slices.Sort(ignored)
	return stage, ignored, err
}

func convertFiles(files []cloudInitFile) ([]yipContent, error) {
	var converted []yipContent
	for _, file := range files {
		if file.Append {
			return nil, fmt.Errorf("write_files: %s: append is not supported on Elemental hosts: write the whole file", file.Path)
		}
		mode := uint64(defaultFileMode)
		if file.Permissions != "" {
			var err error
			if mode, err = strconv.ParseUint(strings.TrimPrefix(file.Permissions, "0o"), 8, 32); err != nil {
				return nil, fmt.Errorf("write_files: %s: permissions %q are not an octal number", file.Path, file.Permissions)
			}
		}
		converted = append(converted, yipContent{
			Path: file.Path, Permissions: uint32(mode), OwnerString: file.Owner, Content: file.Content, Encoding: file.Encoding,
		})
	}
	return converted, nil
}

func convertUsers(users []yaml.Node) (map[string]yipUser, error) {
	converted := map[string]yipUser{}
	for _, node := range users {
		if node.Kind == yaml.ScalarNode {
			continue // "default": the distribution's user, which Elemental does not have
		}
		user := cloudInitUser{}
		if err := node.Decode(&user); err != nil {
			return nil, fmt.Errorf("users: %w", err)
		}
		groups, err := stringList(user.Groups)
		if err != nil {
			return nil, fmt.Errorf("users: %s: groups: %w", user.Name, err)
		}
		password := user.Passwd
		if password == "" {
			password = user.HashedPasswd
		}
		converted[user.Name] = yipUser{
			PasswordHash: password, Groups: groups, Homedir: user.Homedir, Shell: user.Shell,
			LockPasswd: user.LockPasswd, Keys: user.Keys,
		}
	}
	return converted, nil
}

// stringList decodes a list, or a string with commas.
func stringList(node yaml.Node) ([]string, error) {
	if node.IsZero() {
		return nil, nil
	}
	if node.Kind == yaml.ScalarNode {
		var list []string
		for part := range strings.SplitSeq(node.Value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list, nil
	}
	var list []string
	err := node.Decode(&list)
	return list, err
}

// convertCommands converts strings, which a shell runs, and lists, which are arguments and therefore quoted.
func convertCommands(nodes []yaml.Node) ([]string, error) {
	var commands []string
	for _, node := range nodes {
		if node.Kind == yaml.ScalarNode {
			commands = append(commands, node.Value)
			continue
		}
		var args []string
		if err := node.Decode(&args); err != nil {
			return nil, fmt.Errorf("runcmd: line %d is neither a string nor a list of strings", node.Line)
		}
		for i, arg := range args {
			args[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		commands = append(commands, strings.Join(args, " "))
	}
	return commands, nil
}
