// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// MarkerFile is the marker's name in the work directory.
const MarkerFile = "upgrade.json"

// PhaseReverting is a phase of the marker alone; it is reported as wire.PhaseAssessing.
const PhaseReverting = "Reverting"

// Marker is all that is remembered of an attempt.
type Marker struct {
	// Attempt is the id; empty when there is none.
	Attempt string `json:"attempt"`
	// Phase is one of wire's phases of an attempt, or PhaseReverting.
	Phase string `json:"phase"`
	// ImageURI is the operator's, Digest what it was resolved to, ImageBytes its compressed size.
	ImageURI   string `json:"imageURI,omitempty"`
	Digest     string `json:"digest,omitempty"`
	ImageBytes int64  `json:"imageBytes,omitempty"`
	// UnpackedBytes is what it takes unpacked; 0 until it has been downloaded.
	UnpackedBytes int64 `json:"unpackedBytes,omitempty"`
	// Verification names the rules that the image has passed; empty for none.
	Verification string `json:"verification,omitempty"`
	// UpgradeRecovery and Debug are what else was asked for.
	UpgradeRecovery bool `json:"upgradeRecovery,omitempty"`
	Debug           bool `json:"debug,omitempty"`
	// FreeBytes on the state partition when the attempt was prepared, in whole MiB.
	FreeBytes int64 `json:"freeBytes,omitempty"`
	// FromBootID is the boot in which the image is applied, FromSnapshot what was booted then.
	FromBootID   string `json:"fromBootID,omitempty"`
	FromSnapshot int32  `json:"fromSnapshot,omitempty"`
	// UnitsBefore is how units were before the upgrade.
	UnitsBefore assess.UnitStates `json:"unitsBefore,omitzero"`
	// WantedSnapshot is what was written.
	WantedSnapshot int32 `json:"wantedSnapshot,omitempty"`
	// Starts and Failures count the tries to write the image.
	Starts   int `json:"starts,omitempty"`
	Failures int `json:"failures,omitempty"`
	// Warnings are of what failed while the image was written, and kept nobody from it.
	Warnings []string `json:"warnings,omitempty"`
	// CleanFailures counts how often in a row what a killed upgrade left behind could not be removed, CleanBootID is the boot in
	// which that began.
	CleanFailures int    `json:"cleanFailures,omitempty"`
	CleanBootID   string `json:"cleanBootID,omitempty"`
	// LeftSnapshot was booted before it was known to be whole, in the boot LeftBootID. It is removed once another runs.
	LeftSnapshot int32  `json:"leftSnapshot,omitempty"`
	LeftBootID   string `json:"leftBootID,omitempty"`
	// RevertBootID is the boot that was judged bad, Reverts counts how often that was left and booted again.
	RevertBootID string `json:"revertBootID,omitempty"`
	Reverts      int    `json:"reverts,omitempty"`
	// AssessedBootID is the boot that is judged, AssessUntil the uptime in nanoseconds by which it has to be good. They outlive
	// the agent: each that is started anew would give the boot as much time again otherwise.
	AssessedBootID string        `json:"assessedBootID,omitempty"`
	AssessUntil    time.Duration `json:"assessUntil,omitempty"`
	// AssessExtended says that an agent looked at a good boot for longer than AssessUntil, to see that it stays so.
	AssessExtended bool `json:"assessExtended,omitempty"`
	// Healthy says, after a roll-back, whether the former OS is good.
	Healthy bool `json:"healthy,omitempty"`
	// Message says what is wrong.
	Message string `json:"message,omitempty"`
	// Checks are what the checks of the attempt have found so far, at most wire.MaxChecks.
	Checks []wire.Check `json:"checks,omitempty"`
}

var (
	endPhases      = []string{wire.PhaseSucceeded, wire.PhaseFailed, wire.PhaseRolledBack}
	inFlightPhases = []string{wire.PhaseApplying, wire.PhaseRebooting, wire.PhaseAssessing, PhaseReverting}
)

// Finished reports whether the attempt has ended.
func (m Marker) Finished() bool { return slices.Contains(endPhases, m.Phase) }

// InFlight reports whether the attempt can no longer be undone and has not ended.
func (m Marker) InFlight() bool { return slices.Contains(inFlightPhases, m.Phase) }

// Wire is the attempt as it is reported; nil when there is none.
func (m Marker) Wire() *wire.Attempt {
	if m.Attempt == "" {
		return nil
	}
	phase := m.Phase
	if phase == PhaseReverting {
		phase = wire.PhaseAssessing
	}
	return &wire.Attempt{
		Attempt: m.Attempt, Phase: phase, Digest: m.Digest, ImageBytes: m.ImageBytes, FreeBytes: m.FreeBytes,
		FromBootID: m.FromBootID, Healthy: m.Healthy, Message: m.Message, Checks: m.Checks,
	}
}

// warned is a message with the warnings behind it.
func (m Marker) warned(message string) string {
	return assess.Warn(message, m.Warnings)
}

// ReadMarker returns the marker in a work directory for who looks at the host; a zero one where there is none.
func ReadMarker(workDir string) (Marker, error) { return readMarker(workDir) }

func readMarker(workDir string) (Marker, error) {
	marker := struct {
		Marker
		// KnownFailed are the failed units as agents before UnitsBefore kept them.
		KnownFailed []string `json:"knownFailed,omitempty"`
	}{}
	_, err := system.ReadJSON(filepath.Join(workDir, MarkerFile), &marker)
	if marker.UnitsBefore.Failed == nil {
		marker.UnitsBefore.Failed = marker.KnownFailed
	}
	return marker.Marker, err
}

func writeMarker(workDir string, marker Marker) error {
	return system.WriteJSON(filepath.Join(workDir, MarkerFile), marker)
}

func removeMarker(workDir string) error {
	return system.RemoveFile(filepath.Join(workDir, MarkerFile))
}
