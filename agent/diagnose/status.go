// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/version"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Status prints, from what the agent has stored, the host's identity, for comparison with its ElementalHost, and what the host waits for. It
// changes nothing, so it can run beside the agent. For what cannot be read it prints the error.
func Status(out io.Writer, subject Subject) error {
	settings, err := config.Load(subject.ConfigPath)
	if err != nil {
		settings = config.Config{Agent: config.Agent{WorkDir: config.DefaultWorkDir}}
		settings.Registration.URI = "unknown: " + err.Error()
	}
	workDir := subject.Host.Path(settings.Agent.WorkDir)
	name, key, err := who(workDir)
	marker, markerErr := upgrade.ReadMarker(workDir)
	lines := [][2]string{
		{"Name", name}, {"Registration", settings.Registration.URI}, {"Key", key}, {"Agent", version.Version},
		{"OS", booted(subject.Host)}, {"Waits for", waitsFor(workDir, err, marker, markerErr)},
	}
	return writeLines(out, append(lines, ofAttempt(marker, markerErr)...))
}

func writeLines(out io.Writer, lines [][2]string) error {
	for _, line := range lines {
		// The message of an attempt may contain several lines of a check's output.
		if _, err := fmt.Fprintf(out, "%-15s%s\n", line[0]+":", strings.ReplaceAll(line[1], "\n", "\n"+strings.Repeat(" ", 15))); err != nil {
			return err
		}
	}
	return nil
}

func who(workDir string) (name, fingerprint string, err error) {
	own, err := identity.Read(workDir)
	if errors.Is(err, fs.ErrNotExist) {
		return "none", "none in " + workDir, err
	}
	if err != nil {
		return "unknown", "unknown: " + err.Error(), err
	}
	key, err := own.PublicKey()
	if err != nil {
		return own.Name, "unknown: " + err.Error(), err
	}
	return own.Name, wire.KeyFingerprint(key), nil
}

// booted returns the name and boot mode of the booted OS.
func booted(host *system.Host) string {
	mode := "unknown mode"
	for _, each := range []string{osplugin.ModeLive, osplugin.ModeRecovery, osplugin.ModePassive, osplugin.ModeActive} {
		if host.Exists("/run/elemental/" + each + "_mode") {
			mode = each
			break
		}
	}
	release, err := host.ReadTrimmed("/etc/os-release")
	if err != nil {
		return mode + ", " + err.Error()
	}
	for line := range strings.Lines(release) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); found {
			return strings.Trim(value, `"'`) + ", " + mode
		}
	}
	return mode
}

// waiting says what an unfinished attempt waits for in each phase.
var waiting = map[string]string{
	wire.PhaseAcknowledged: "the image to be fetched",
	wire.PhaseFetching:     "the image to be fetched and verified",
	wire.PhaseFetched:      "the API to allow writing the image",
	wire.PhaseApplying:     "the elemental CLI to write the image",
	wire.PhaseRebooting:    "the reboot into the new OS",
	wire.PhaseAssessing:    "the assessment of the new OS",
	upgrade.PhaseReverting: "the reboot into the former OS",
}

func waitsFor(workDir string, identified error, marker upgrade.Marker, markerErr error) string {
	switch {
	case identified != nil:
		return "its registration; see elemental-agent check"
	case exists(filepath.Join(workDir, phase.ResetMarkFile)):
		return "its reset in the recovery system"
	case !exists(filepath.Join(workDir, identity.RegisteredFile)):
		return "the API to register it; see elemental-agent check"
	case markerErr != nil:
		return "unknown: " + markerErr.Error()
	case marker.Attempt != "" && !marker.Finished():
		return cmp.Or(waiting[marker.Phase], "attempt "+marker.Attempt+" in phase "+marker.Phase)
	}
	return "a new desired state from the API"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func ofAttempt(marker upgrade.Marker, err error) [][2]string {
	if err != nil {
		return [][2]string{{"Last attempt", "unknown: " + err.Error()}}
	}
	if marker.Attempt == "" {
		return [][2]string{{"Last attempt", "none"}}
	}
	lines := [][2]string{
		{"Last attempt", marker.Attempt}, {"  Phase", marker.Phase}, {"  Image", strings.TrimSpace(marker.ImageURI + " " + marker.Digest)},
		{"  Snapshots", fmt.Sprintf("from %d to %d", marker.FromSnapshot, marker.WantedSnapshot)},
	}
	if marker.Message != "" {
		lines = append(lines, [2]string{"  Verdict", marker.Message})
	}
	if len(marker.Checks) > 0 {
		lines = append(lines, [2]string{"  Checks", describe(marker.Checks)})
	}
	return lines
}

// describe lists checks: a line for each, with the end of its output beneath.
func describe(checks []wire.Check) string {
	var lines []string
	for _, check := range checks {
		line := fmt.Sprintf("%-8s  %s, %s", check.Verdict, check.Name, check.Since.Format(time.RFC3339))
		if check.ExitCode != nil && *check.ExitCode != 0 {
			line += fmt.Sprintf(", exit code %d", *check.ExitCode)
		}
		lines = append(lines, line)
		if check.Output != "" {
			lines = append(lines, "          "+strings.ReplaceAll(check.Output, "\n", "\n          "))
		}
	}
	return strings.Join(lines, "\n")
}
