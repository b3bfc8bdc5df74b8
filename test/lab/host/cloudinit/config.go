// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Config is a yip file.
type Config struct {
	Name   string             `yaml:"name"`
	Stages map[string][]Stage `yaml:"stages"`
}

// Stage is one step of a stage: its files are written before its commands run.
type Stage struct {
	Name     string   `yaml:"name"`
	If       string   `yaml:"if"`
	Hostname string   `yaml:"hostname"`
	Files    []File   `yaml:"files"`
	Commands []string `yaml:"commands"`
}

// File to write.
type File struct {
	Path        string `yaml:"path"`
	Permissions Mode   `yaml:"permissions"`
	Content     string `yaml:"content"`
	Encoding    string `yaml:"encoding"`
}

// Mode of a file: a number, or text with octal digits.
type Mode uint32

// UnmarshalYAML accepts both forms.
func (m *Mode) UnmarshalYAML(node *yaml.Node) error {
	base := 0 // a YAML number: 0644 and 0o644 are octal, 420 is not
	if node.Tag == "!!str" {
		base = 8
	}
	n, err := strconv.ParseUint(node.Value, base, 32)
	*m = Mode(n)
	return err
}

// userData is the part of #cloud-config that yip supports.
type userData struct {
	Hostname   string             `yaml:"hostname"`
	WriteFiles []File             `yaml:"write_files"`
	RunCmd     []string           `yaml:"runcmd"`
	Stages     map[string][]Stage `yaml:"stages"`
}

const cloudConfigHead = "#cloud-config"

// Load decodes a yip file, or a #cloud-config, whose files and commands run in the boot stage.
func Load(data []byte) (Config, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte(cloudConfigHead)) {
		var c Config
		if err := yaml.Unmarshal(data, &c); err != nil {
			return Config{}, fmt.Errorf("decoding yip file: %w", err)
		}
		return c, nil
	}
	var u userData
	if err := yaml.Unmarshal(data, &u); err != nil {
		return Config{}, fmt.Errorf("decoding #cloud-config: %w", err)
	}
	c := Config{Stages: map[string][]Stage{
		"initramfs": {{Hostname: u.Hostname}},
		"boot":      {{Files: u.WriteFiles, Commands: u.RunCmd}},
	}}
	for name, stages := range u.Stages {
		c.Stages[name] = append(c.Stages[name], stages...)
	}
	return c, nil
}

// decoded is the decoded content of the file.
func (f File) decoded() ([]byte, error) {
	data := []byte(f.Content)
	var err error
	switch strings.ToLower(f.Encoding) {
	case "":
		return data, nil
	case "b64", "base64":
		return base64.StdEncoding.DecodeString(strings.TrimSpace(f.Content))
	case "gz", "gzip":
	case "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		if data, err = base64.StdEncoding.DecodeString(strings.TrimSpace(f.Content)); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("unknown encoding %q", f.Encoding)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
