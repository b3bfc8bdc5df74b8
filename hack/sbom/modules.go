// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// architectures that images are released for; what is linked in can differ.
var architectures = []string{"amd64", "arm64"}

// module that is linked into a program.
type module struct {
	Path    string
	Version string
	// Sum is the hash in go.sum.
	Sum  string
	Main bool
	// Replace is what is linked in its stead.
	Replace *module
}

// modulesOf lists the modules of others that a program is linked from, by path.
func modulesOf(program string) ([]module, error) {
	found := map[string]module{}
	for _, architecture := range architectures {
		listed, err := list(program, architecture)
		if err != nil {
			return nil, err
		}
		for _, m := range listed {
			found[m.Path] = m
		}
	}
	modules := []module{}
	for _, m := range found {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

func list(program, architecture string) ([]module, error) {
	command := exec.Command("go", "list", "-deps", "-json=Module", program)
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+architecture, "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing what %s is linked from: %w", program, err)
	}
	return decode(output)
}

// decode reads the modules of packages, as go list prints them. Packages of Go itself have none.
func decode(packages []byte) ([]module, error) {
	modules := []module{}
	decoder := json.NewDecoder(bytes.NewReader(packages))
	for {
		var listed struct{ Module *module }
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			return modules, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading what go list prints: %w", err)
		}
		m := listed.Module
		if m == nil || m.Main {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" {
			return nil, fmt.Errorf("module %s is replaced by a folder: what is released must have a version", m.Path)
		}
		modules = append(modules, *m)
	}
}
