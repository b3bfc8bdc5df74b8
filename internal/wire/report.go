// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "time"

// Report is all that a host may say about itself: the whole of it each time, so that the last one
// holds. Fields that the API does not know are left out: the agent may be newer. A host sends it when it has something new to say and whenever it
// connects anew; the API writes it only if it differs from what is stored.
type Report struct {
	AgentVersion string `json:"agentVersion,omitempty"`
	Phase        string `json:"phase,omitempty"`
	Message      string `json:"message,omitempty"`
	// VolatileWorkDir says why what the agent keeps is lost with the next reboot; empty where it is not.
	VolatileWorkDir string    `json:"volatileWorkDir,omitempty"`
	Installed       bool      `json:"installed,omitempty"`
	Bootstrapped    bool      `json:"bootstrapped,omitempty"`
	Addresses       []Address `json:"addresses,omitempty"`
	OS              OS        `json:"os"`
	Upgrade         *Attempt  `json:"upgrade,omitempty"`
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
	// Progress of the present phase; nil where nothing is under way that is counted.
	Progress *Progress `json:"progress,omitempty"`
	// Checks of the host before and after the reboot, in their order.
	Checks []Check `json:"checks,omitempty"`
}

// Check is what one check of the host found.
type Check struct {
	// Name of a check of the agent's own, or DIRECTORY/FILE of a program of the user's. It is unique within an attempt.
	Name string `json:"name"`
	// Verdict is CheckPassed or another of these.
	Verdict string `json:"verdict"`
	// Since when it has been found like this, in whole seconds.
	Since time.Time `json:"since,omitzero"`
	// ExitCode of a program; nil for one that was ended or could not be started, and for checks of the agent's own.
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Output is the end of what a program wrote, or why a check of the agent's own has not passed; empty for one that has.
	Output string `json:"output,omitempty"`
}

// Verdicts of a check.
const (
	CheckPassed = "Passed"
	CheckFailed = "Failed"
	// CheckTimedOut: it was not done, or not good, within its time.
	CheckTimedOut = "TimedOut"
	// CheckWaiting: it has not passed yet, and had not when another ended the assessment.
	CheckWaiting = "Waiting"
)

// Bounds of the checks of an attempt. Those of text are in bytes. A name has room for the longest name of a file.
const (
	MaxChecks       = 32
	MaxCheckName    = 288
	MaxCheckVerdict = 32
	MaxCheckOutput  = 256
)

// Progress of what a host does for an attempt and takes long. It is reported while that is under way, and dropped with it.
type Progress struct {
	// Stage is what the host does: one of the Stages.
	Stage string `json:"stage"`
	// Bytes that are done.
	Bytes int64 `json:"bytes"`
	// TotalBytes that there are to do; 0 where nobody knows.
	TotalBytes int64 `json:"totalBytes,omitempty"`
}

// Stages of a host's progress.
const (
	// StageDownload: blobs of the image come from its registry.
	StageDownload = "Download"
	// StageWrite: the elemental CLI fills the state partition.
	StageWrite = "Write"
	// StageVerify: what is on the disk is compared with what was to be written.
	StageVerify = "Verify"
)

// WarningPrefix is before each warning in the message of an attempt, behind what is wrong. One that succeeded has nothing but
// warnings to tell of.
const WarningPrefix = "warning: "

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
