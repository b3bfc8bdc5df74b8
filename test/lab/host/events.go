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
	// Up is a boot that came up, and has not failed its assessment.
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
	// ID is the kernel's boot ID; empty for a boot that panicked.
	ID string
	// Entry of GRUB's menu, with its Mode and Snapshot.
	Entry    string
	Mode     string
	Snapshot int
	// Version is the PRETTY_NAME.
	Version string
	// HealthCheck reports whether the boot was on trial.
	HealthCheck bool
	Outcome     Outcome
	// Started, Up and Down are when GRUB chose the entry, the system was up, and the host was down
	// again.
	Started, Up, Down time.Time
}
