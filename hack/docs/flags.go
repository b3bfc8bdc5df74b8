// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
)

// commands whose help is shown, by the package that they are built from.
var commands = []struct {
	title, program string
	args           []string
}{
	{"manager", "manager", nil},
	{"elemental-agent", "elemental-agent", nil},
	{"elemental-agent run", "elemental-agent", []string{"run"}},
	{"elemental-agent register", "elemental-agent", []string{"register"}},
	{"elemental-agent install", "elemental-agent", []string{"install"}},
	{"elemental-agent reset", "elemental-agent", []string{"reset"}},
	{"elemental-agent check", "elemental-agent", []string{"check"}},
	{"elemental-agent status", "elemental-agent", []string{"status"}},
	{"elemental-agent support-bundle", "elemental-agent", []string{"support-bundle"}},
}

// flagsPage has what the programs say about themselves.
func flagsPage() ([]byte, error) {
	page := bytes.NewBufferString("# Flags\n\n" + generated +
		"What the programs of this version print when they are asked for `--help`. The flags that are this project's own are explained\n" +
		"in the reference of the [manager](../reference.md#manager) and of the [agent](../reference.md#elemental-agent).\n")
	for _, command := range commands {
		args := append(append([]string{"run", "./cmd/" + command.program}, command.args...), "--help")
		said, err := exec.Command("go", args...).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("asking %s for help: %w: %s", command.title, err, said)
		}
		fmt.Fprintf(page, "\n## %s\n\n```\n%s\n```\n", command.title, trimLines(string(said)))
	}
	return page.Bytes(), nil
}

// trimLines takes off the blanks that lines end with.
func trimLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Join(lines, "\n")
}
