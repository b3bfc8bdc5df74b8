// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "time"

// Report is the status that a host reports, always as a whole. The API ignores unknown fields, since the agent may be newer. A host sends it
// whenever it has changed and whenever it connects; the API writes it only if it differs from what is stored.
type Report struct {
	AgentVersion string `json:"agentVersion,omitempty"`
	Phase        string `json:"phase,omitempty"`
	Message      string `json:"message,omitempty"`
	// VolatileWorkDir is why the work directory does not survive a reboot; empty if it does.
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

// Attempt is the status of an attempt. Phase is one of the HostUpgradePhases of the API.
type Attempt struct {
	Attempt    string `json:"attempt"`
	Phase      string `json:"phase"`
	Digest     string `json:"digest,omitempty"`
	ImageBytes int64  `json:"imageBytes,omitempty"`
	FreeBytes  int64  `json:"freeBytes,omitempty"`
	FromBootID string `json:"fromBootID,omitempty"`
	Healthy    bool   `json:"healthy,omitempty"`
	Message    string `json:"message,omitempty"`
	// Progress of the present phase; nil if it is not measured.
	Progress *Progress `json:"progress,omitempty"`
	// Checks of the host before and after the reboot, in order.
	Checks []Check `json:"checks,omitempty"`
}

// Check is the result of one check of the host.
type Check struct {
	// Name of one of the agent's own checks, or DIRECTORY/FILE of a user's program. It is unique within an attempt.
	Name string `json:"name"`
	// Verdict is CheckPassed or another of these constants.
	Verdict string `json:"verdict"`
	// Since when it has had this result, in whole seconds.
	Since time.Time `json:"since,omitzero"`
	// ExitCode of a program; nil if it was killed or could not be started, and for the agent's own checks.
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Output is the end of a program's output, or why one of the agent's own checks has not passed; empty if it has.
	Output string `json:"output,omitempty"`
}

// Verdicts of a check.
const (
	CheckPassed = "Passed"
	CheckFailed = "Failed"
	// CheckFailedBefore: it failed as it had on the OS before the upgrade, and is a warning.
	CheckFailedBefore = "FailedBefore"
	// CheckTimedOut: it did not complete, or did not pass, in time.
	CheckTimedOut = "TimedOut"
	// CheckWaiting: it has not passed yet, or had not when another check ended the assessment.
	CheckWaiting = "Waiting"
)

// Bounds of the checks of an attempt. Those of text are in bytes. A name has room for the longest file name.
const (
	MaxChecks       = 32
	MaxCheckName    = 288
	MaxCheckVerdict = 32
	MaxCheckOutput  = 256
)

// Progress of a long operation of an attempt. It is reported during the operation, and removed afterwards.
type Progress struct {
	// Stage is the operation: one of the Stages.
	Stage string `json:"stage"`
	// Bytes that are done.
	Bytes int64 `json:"bytes"`
	// TotalBytes of the operation; 0 if unknown.
	TotalBytes int64 `json:"totalBytes,omitempty"`
}

// Stages of a host's progress.
const (
	// StageDownload: the image is downloaded from its registry.
	StageDownload = "Download"
	// StageWrite: the elemental CLI writes to the state partition.
	StageWrite = "Write"
	// StageVerify: the snapshot is compared with its expected content.
	StageVerify = "Verify"
)

// WarningPrefix precedes each warning in the message of an attempt, after the reason of a failure. The message of a successful attempt
// contains only warnings.
const WarningPrefix = "warning: "

// Phases of an attempt, in order; the last three are final. An agent begins with Fetching; older ones have reported Acknowledged before.
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

// Phases of a host, spelled as by the predecessor.
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
