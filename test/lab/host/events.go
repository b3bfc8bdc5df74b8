// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import "time"

// EventType says what happened.
type EventType string

// Events of a host.
const (
	Installed        EventType = "Installed"
	GrubChose        EventType = "GrubChose"
	KernelPanicked   EventType = "KernelPanicked"
	NothingToBoot    EventType = "NothingToBoot"
	Booted           EventType = "Booted"
	Joined           EventType = "Joined"
	JoinFailed       EventType = "JoinFailed"
	AssessmentPassed EventType = "AssessmentPassed"
	AssessmentFailed EventType = "AssessmentFailed"
	AgentStarted     EventType = "AgentStarted"
	AgentEnded       EventType = "AgentEnded"
	PowerRequested   EventType = "PowerRequested"
	WentDown         EventType = "WentDown"
	LostPower        EventType = "LostPower"
)

// Event on a host.
type Event struct {
	Time    time.Time
	Host    string
	Type    EventType
	Message string
}

// Outcome of a boot.
type Outcome string

// Outcomes of a boot.
const (
	// Booting is a boot that has not come up yet.
	Booting Outcome = "booting"
	// Up is a boot that came up, and was not found bad.
	Up Outcome = "up"
	// Panicked is a boot that never came up.
	Panicked Outcome = "panicked"
	// Unhealthy is a boot that came up and failed its assessment.
	Unhealthy Outcome = "unhealthy"
)

// Boot of a host, from GRUB's choice on.
type Boot struct {
	// Number counts from 1.
	Number int
	// ID is the kernel's boot id; empty for one that panicked.
	ID string
	// Entry of GRUB's menu, Mode and Snapshot that were chosen.
	Entry    string
	Mode     string
	Snapshot int
	// Version is the PRETTY_NAME.
	Version string
	// HealthCheck says that the boot was on trial.
	HealthCheck bool
	Outcome     Outcome
	// Started, Up and Down are when GRUB chose, the system was up, and it was down again.
	Started, Up, Down time.Time
}
