// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HostCheckVerdict is the verdict of a check of a host. An agent that is newer than the manager may report others.
type HostCheckVerdict string

// Verdicts of a host's check.
const (
	// HostCheckPassed: the check passed.
	HostCheckPassed HostCheckVerdict = "Passed"
	// HostCheckFailed: the check failed.
	HostCheckFailed HostCheckVerdict = "Failed"
	// HostCheckFailedBefore: the check failed as it had on the OS before the upgrade, and is a warning.
	HostCheckFailedBefore HostCheckVerdict = "FailedBefore"
	// HostCheckTimedOut: the check was not done, or did not pass, within its timeout.
	HostCheckTimedOut HostCheckVerdict = "TimedOut"
	// HostCheckWaiting: the check has not passed yet, or had not passed when another check ended the assessment.
	HostCheckWaiting HostCheckVerdict = "Waiting"
)

// HostCheck is the result of one check of a host in an attempt.
type HostCheck struct {
	// name of one of the agent's own checks (boot, toolkit, kubelet, units, jobs, stable), or directory and file of a program of yours,
	// for example required.d/10-disk. It begins with former/ for checks of the OS that the host fell back to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=288
	Name string `json:"name"`
	// verdict is Passed, Failed, FailedBefore, TimedOut or Waiting.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Verdict HostCheckVerdict `json:"verdict"`
	// since when the check has had this verdict, by the host's clock.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`
	// exitCode of a program that has exited by itself.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// output is the end of the output of a program, or the reason why one of the agent's own checks has not passed. It is empty for
	// checks that passed.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Output string `json:"output,omitempty"`
}
