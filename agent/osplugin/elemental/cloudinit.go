// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const cloudConfigHeader = "#cloud-config"

// cloudInit is the supported part of a cloud-config.
// Source: https://cloudinit.readthedocs.io, "Module reference".
type cloudInit struct {
	Hostname string          `yaml:"hostname"`
	Files    []cloudInitFile `yaml:"write_files"`
	Users    resolved        `yaml:"users"`
	Keys     []string        `yaml:"ssh_authorized_keys"`
	BootCmd  []resolved      `yaml:"bootcmd"`
	RunCmd   []resolved      `yaml:"runcmd"`
	// Rest are the unsupported keys.
	Rest map[string]yaml.Node `yaml:",inline"`
}

// resolved is a value of any kind: what an alias stands for, which a yaml.Node in its place would not be.
type resolved struct{ yaml.Node }

// UnmarshalYAML implements yaml.Unmarshaler.
func (r *resolved) UnmarshalYAML(value *yaml.Node) error {
	r.Node = *value
	return nil
}

// userData is a cloud-config, decoded.
type userData struct {
	hostname string
	// files are written before the users are added, deferred files after that.
	files, deferred []yipContent
	users           map[string]yipUser
	keys            map[string][]string
	// bootcmd and runcmd are scripts; empty without commands.
	bootcmd, runcmd string
	// ignored are the keys without a counterpart, sorted.
	ignored []string
}

// convert decodes a cloud-config. Its errors name the key, and the file or user.
func convert(config string) (data userData, err error) {
	parsed := cloudInit{}
	if err := decode(config, &parsed); err != nil {
		return data, fmt.Errorf("decoding the cloud-config: %w", err)
	}
	data.hostname = parsed.Hostname
	data.ignored = slices.Collect(maps.Keys(parsed.Rest))
	if err := data.addFiles(parsed.Files); err != nil {
		return data, err
	}
	if err := data.addUsers(parsed.Users.Node); err != nil {
		return data, err
	}
	if len(parsed.Keys) > 0 {
		data.keys = map[string][]string{"root": parsed.Keys}
	}
	if data.bootcmd, err = script("bootcmd", parsed.BootCmd); err != nil {
		return data, err
	}
	if data.runcmd, err = script("runcmd", parsed.RunCmd); err != nil {
		return data, err
	}
	slices.Sort(data.ignored)
	return data, nil
}

// decode decodes the only document of a text, as cloud-init does: what is in another one would be lost.
func decode(config string, into *cloudInit) error {
	documents := yaml.NewDecoder(strings.NewReader(config))
	if err := documents.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var another any
	err := documents.Decode(&another)
	if errors.Is(err, io.EOF) || err == nil && another == nil {
		return nil
	}
	return errors.Join(errors.New("it has more than one YAML document: put all into one"), err)
}

// script makes one script of all commands, as cloud-init does: a variable, a directory or an exit is that of the next commands, too.
// Commands are lines of a shell, or lists of arguments, which are therefore quoted.
func script(key string, commands []resolved) (string, error) {
	if len(commands) == 0 {
		return "", nil
	}
	text := "#!/bin/sh\n"
	for _, node := range commands {
		switch {
		case node.ShortTag() == "!!null": // a comment
			continue
		case node.Kind == yaml.ScalarNode:
			text += node.Value + "\n"
			continue
		}
		var arguments []string
		if err := node.Decode(&arguments); err != nil {
			return "", fmt.Errorf("%s: line %d is neither a string nor a list of strings", key, node.Line)
		}
		for i, argument := range arguments {
			arguments[i] = quote(argument)
		}
		text += strings.Join(arguments, " ") + "\n"
	}
	return text, nil
}
