// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// UpgradeEnds are the phases in which an attempt does nothing more by itself. HostLost is none: the attempt goes on
// when its host comes back.
func UpgradeEnds() []UpgradePhase {
	return []UpgradePhase{UpgradeSucceeded, UpgradeRolledBack, UpgradeFailed, UpgradeSuperseded, UpgradeAborted}
}

// IsEnd reports whether the phase is one of UpgradeEnds.
func (p UpgradePhase) IsEnd() bool { return slices.Contains(UpgradeEnds(), p) }

// IsActive reports whether an attempt in this phase has steps left to do and is at them, or about to be. HostLost is
// not: nothing is done until the host comes back, and so the phase is neither an end nor active.
func (p UpgradePhase) IsActive() bool { return !p.IsEnd() && p != UpgradeHostLost }

// PhaseNow is the phase of an attempt, also of one that ended on another management cluster: "clusterctl move" loses its
// status, which the controller writes again some time after.
func (u *ElementalHostUpgrade) PhaseNow() UpgradePhase {
	ended, _, _ := strings.Cut(u.Annotations[EndedAnnotation], "/")
	if end := UpgradePhase(ended); u.Status.Phase == "" && end.IsEnd() {
		return end
	}
	return u.Status.Phase
}

// Position is the current step with its position in the form "Drain (7/14)"; empty if there is none.
func (s ElementalHostUpgradeStatus) Position() string {
	if s.Step == "" {
		return ""
	}
	return fmt.Sprintf("%s (%d/%d)", s.Step, s.StepIndex, s.StepCount)
}

// CreatedAt is when an attempt was created first, on whichever management cluster that was.
func (u *ElementalHostUpgrade) CreatedAt() time.Time {
	if created, err := time.Parse(time.RFC3339, u.Annotations[CreatedAnnotation]); err == nil {
		return created
	}
	return u.CreationTimestamp.Time
}

// OldestFirst orders attempts by age, and those of the same second by name.
func OldestFirst(a, b *ElementalHostUpgrade) int {
	return cmp.Or(a.CreatedAt().Compare(b.CreatedAt()), cmp.Compare(a.Name, b.Name))
}
