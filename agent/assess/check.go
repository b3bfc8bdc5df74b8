// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// The names of the agent's own checks.
const (
	ToolkitCheck = "toolkit"
	KubeletCheck = "kubelet"
	NetworkCheck = "network"
	UnitsCheck   = "units"
	JobsCheck    = "jobs"
)

// nameOf returns the name of a user's program: its directory and its file.
func nameOf(path string) string {
	return strings.ToValidUTF8(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), "?")
}

// second truncates a time to seconds, as the API stores it: otherwise a report would always differ from what is stored.
func second(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }

// output returns the output of a program, or the reason if it printed nothing.
func output(result system.Result, reason string) string {
	for _, said := range []string{result.Stderr, result.Stdout} {
		if end := tail(said); end != "" {
			return end
		}
	}
	return tail(reason)
}

// tail returns the end of an output, without control characters.
func tail(said string) string {
	said = strings.TrimSpace(strings.Map(func(char rune) rune {
		if char != '\n' && unicode.IsControl(char) {
			return ' '
		}
		return char
	}, strings.ToValidUTF8(said, "?")))
	// Drop the rest of a character that was cut in two.
	return strings.TrimSpace(strings.ToValidUTF8(said[max(len(said)-wire.MaxCheckOutput, 0):], ""))
}
