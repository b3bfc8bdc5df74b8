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

// PhaseReverting exists only in the marker; it is reported as wire.PhaseAssessing.
const PhaseReverting = "Reverting"

// Marker is the whole state of an attempt.
type Marker struct {
	// Attempt is the id; empty when there is none.
	Attempt string `json:"attempt"`
	// Phase is one of wire's phases of an attempt, or PhaseReverting.
	Phase string `json:"phase"`
	// ImageURI is the operator's, Digest the digest to which it was resolved, ImageBytes its compressed size.
	ImageURI   string `json:"imageURI,omitempty"`
	Digest     string `json:"digest,omitempty"`
	ImageBytes int64  `json:"imageBytes,omitempty"`
	// UnpackedBytes is its size when unpacked; 0 until it has been downloaded.
	UnpackedBytes int64 `json:"unpackedBytes,omitempty"`
	// Verification names the rules that the image has passed; empty for none.
	Verification string `json:"verification,omitempty"`
	// UpgradeRecovery and Debug are the other settings of the OS version.
	UpgradeRecovery bool `json:"upgradeRecovery,omitempty"`
	Debug           bool `json:"debug,omitempty"`
	// FreeBytes on the state partition when the attempt was prepared, in whole MiB.
	FreeBytes int64 `json:"freeBytes,omitempty"`
	// FromBootID is the boot in which the image is applied, FromSnapshot what was booted then.
	FromBootID   string `json:"fromBootID,omitempty"`
	FromSnapshot int32  `json:"fromSnapshot,omitempty"`
	// UnitsBefore is what was found of the OS before the upgrade.
	UnitsBefore assess.UnitStates `json:"unitsBefore,omitzero"`
	// WantedSnapshot is the snapshot that was written.
	WantedSnapshot int32 `json:"wantedSnapshot,omitempty"`
	// Starts and Failures count the tries to write the image.
	Starts   int `json:"starts,omitempty"`
	Failures int `json:"failures,omitempty"`
	// Warnings are failures that did not prevent the image from being written.
	Warnings []string `json:"warnings,omitempty"`
	// CleanFailures counts consecutive failures to remove the remains of a killed upgrade, CleanBootID is the boot in which they began.
	CleanFailures int    `json:"cleanFailures,omitempty"`
	CleanBootID   string `json:"cleanBootID,omitempty"`
	// LeftSnapshot was booted before it was verified, in the boot LeftBootID, and abandoned. It is removed once another one runs.
	LeftSnapshot int32  `json:"leftSnapshot,omitempty"`
	LeftBootID   string `json:"leftBootID,omitempty"`
	// RevertBootID is the boot that was found bad, Reverts counts how often the host reverted from it and booted it again.
	RevertBootID string `json:"revertBootID,omitempty"`
	Reverts      int    `json:"reverts,omitempty"`
	// AssessedBootID is the boot that is being assessed, AssessUntil the uptime in nanoseconds by which it has to be good. They are
	// persistent, since otherwise each restart of the agent would give the boot the full time again.
	AssessedBootID string        `json:"assessedBootID,omitempty"`
	AssessUntil    time.Duration `json:"assessUntil,omitempty"`
	// AssessExtended is whether an agent has observed a good boot beyond AssessUntil, to see whether it stays good.
	AssessExtended bool `json:"assessExtended,omitempty"`
	// Healthy is whether the former OS is good after a roll-back.
	Healthy bool `json:"healthy,omitempty"`
	// Message is the reason of a failure.
	Message string `json:"message,omitempty"`
	// Checks are the results of the attempt's checks so far, at most wire.MaxChecks.
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

// lastWords are the message of the last report before the reboot. The API that it is sent to may run on this host.
const lastWords = "the image is written and the host reboots; it needs no Elemental API to go on, and reports as soon as it reaches it again"

// Wire is the attempt as it is reported; nil when there is none.
func (m Marker) Wire() *wire.Attempt {
	if m.Attempt == "" {
		return nil
	}
	phase := m.Phase
	switch {
	case phase == PhaseReverting:
		phase = wire.PhaseAssessing
	case phase == wire.PhaseRebooting && m.Message == "":
		m.Message = lastWords
	}
	return &wire.Attempt{
		Attempt: m.Attempt, Phase: phase, Digest: m.Digest, ImageBytes: m.ImageBytes, FreeBytes: m.FreeBytes,
		FromBootID: m.FromBootID, Healthy: m.Healthy, Message: m.Message, Checks: m.Checks,
	}
}

// warned appends the warnings to a message.
func (m Marker) warned(message string) string {
	return assess.Warn(message, m.Warnings)
}

// ReadMarker returns the marker in a work directory; the zero value if there is none.
func ReadMarker(workDir string) (Marker, error) {
	marker := struct {
		Marker
		// KnownFailed are the failed units as stored by agents before UnitsBefore.
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
