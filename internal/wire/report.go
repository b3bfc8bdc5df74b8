// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

// Report is all that a host may say about itself: the whole of it each time, so that the last one
// holds. Unknown fields are refused. A host sends it when it has something new to say and whenever it
// connects anew; the API writes it only if it differs from what is stored.
type Report struct {
	AgentVersion string    `json:"agentVersion,omitempty"`
	Phase        string    `json:"phase,omitempty"`
	Message      string    `json:"message,omitempty"`
	Installed    bool      `json:"installed,omitempty"`
	Bootstrapped bool      `json:"bootstrapped,omitempty"`
	Addresses    []Address `json:"addresses,omitempty"`
	OS           OS        `json:"os"`
	Upgrade      *Attempt  `json:"upgrade,omitempty"`
}

// Address of a host; Type is one of Cluster API's MachineAddressTypes (Hostname, InternalIP, ...).
type Address struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// OS that the host booted.
type OS struct {
	ImageURI  string `json:"imageURI,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Snapshot  int32  `json:"snapshot,omitempty"`
	BootMode  string `json:"bootMode,omitempty"`
	BootID    string `json:"bootID,omitempty"`
	Version   string `json:"version,omitempty"`
	FreeBytes int64  `json:"freeBytes,omitempty"`
}

// Attempt is how far the host is with an attempt. Phase is one of the HostUpgradePhases of the API.
type Attempt struct {
	Attempt    string `json:"attempt"`
	Phase      string `json:"phase"`
	Digest     string `json:"digest,omitempty"`
	ImageBytes int64  `json:"imageBytes,omitempty"`
	FreeBytes  int64  `json:"freeBytes,omitempty"`
	FromBootID string `json:"fromBootID,omitempty"`
	Healthy    bool   `json:"healthy,omitempty"`
	Message    string `json:"message,omitempty"`
}

// Phases of an attempt, in their order; the last three are ends.
const (
	PhaseAcknowledged = "Acknowledged"
	PhaseFetching     = "Fetching"
	PhaseFetched      = "Fetched"
	PhaseApplying     = "Applying"
	PhaseRebooting    = "Rebooting"
	PhaseAssessing    = "Assessing"
	PhaseSucceeded    = "Succeeded"
	PhaseFailed       = "Failed"
	PhaseRolledBack   = "RolledBack"
)

// Phases of a host, spelled as the predecessor spelled them.
const (
	HostRegistering            = "Registering"
	HostFinalizingRegistration = "Finalizing Registration"
	HostInstalling             = "Installing"
	HostBootstrapping          = "Bootstrapping"
	HostRunning                = "Running"
	HostTriggeringReset        = "Triggering Reset"
	HostResetting              = "Resetting"
	HostReconcilingOSVersion   = "Reconciling OS Version"
)
