// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HostCheckVerdict is what a check of a host found. There may be others, of an agent that is newer than the manager.
type HostCheckVerdict string

// Verdicts of a host's check.
const (
	// HostCheckPassed: all is well.
	HostCheckPassed HostCheckVerdict = "Passed"
	// HostCheckFailed: something is wrong.
	HostCheckFailed HostCheckVerdict = "Failed"
	// HostCheckTimedOut: it was not done, or not good, within its time.
	HostCheckTimedOut HostCheckVerdict = "TimedOut"
	// HostCheckWaiting: it has not passed yet, and had not when another ended the assessment.
	HostCheckWaiting HostCheckVerdict = "Waiting"
)

// HostCheck is what one check of a host found in an attempt.
type HostCheck struct {
	// name of a check of the agent's own (boot, toolkit, kubelet, units, jobs, stable), or directory and file of a program of yours,
	// as required.d/10-disk. It begins with former/ for checks of the OS that the host fell back to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=288
	Name string `json:"name"`
	// verdict is Passed, Failed, TimedOut or Waiting.
	// +kubebuilder:validation:MaxLength=32
	Verdict HostCheckVerdict `json:"verdict"`
	// since when it has been found like this, by the host's clock.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`
	// exitCode of a program that has ended by itself.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// output is the end of what a program wrote, or why a check of the agent's own has not passed. There is none of one that has.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Output string `json:"output,omitempty"`
}
