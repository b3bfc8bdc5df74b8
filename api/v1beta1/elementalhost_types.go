// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ElementalHostSpec is the desired state of a host.
type ElementalHostSpec struct {
	// bootstrapSecret holds the bootstrap data of the Machine that the host serves.
	// +optional
	BootstrapSecret *SecretReference `json:"bootstrapSecret,omitempty"`

	// machineRef is the ElementalMachine that the host serves. It is the lock of the association: a
	// host with a machineRef is in use.
	// +optional
	MachineRef *LocalReference `json:"machineRef,omitempty"`

	// pubKey is the PEM-encoded Ed25519 public key that the host signs its tokens with.
	// +optional
	PubKey string `json:"pubKey,omitempty"`

	// approved is true if the identity of the host has been verified. A host that is not approved is not
	// associated and gets no bootstrap data. Registrations with approval Auto set it.
	// +optional
	Approved bool `json:"approved,omitempty"`

	// osVersionManagement is the OS the host has to run. A host that is not bootstrapped follows it at
	// once; a bootstrapped one only when it is triggered.
	// +optional
	OSVersionManagement OSVersionManagement `json:"osVersionManagement,omitempty,omitzero"`

	// imageVerification defines whose signature the image in osVersionManagement needs. It is copied from the registration
	// or, while the host serves a Machine, from the cluster if that has one.
	// +optional
	ImageVerification *ImageVerification `json:"imageVerification,omitempty"`

	// upgrade is the current attempt on the host. It belongs to the upgrade controller, which writes and removes it as its
	// ElementalHostUpgrade requires: do not set it. To upgrade a host, set osVersionManagement of the ElementalMachineTemplate or,
	// while the host serves no Machine, its own. The host prepares the attempt at once, and carries it out when
	// InPlaceUpgradeLabel is "pending".
	// +optional
	Upgrade *HostUpgradeRequest `json:"upgrade,omitempty"`
}

// HostUpgradeRequest tells a host to prepare an attempt.
type HostUpgradeRequest struct {
	// attempt is the id of the attempt. A host carries it out once, unless it was given another one since, and is triggered again.
	// +required
	// +kubebuilder:validation:MinLength=1
	Attempt string `json:"attempt"`

	// triggeredFor is the boot for which the host was triggered: its node was drained in it. The host carries out the attempt in no other boot.
	// It is written with the trigger, and removed with it.
	// +optional
	TriggeredFor *HostBoot `json:"triggeredFor,omitempty"`

	// digest that the image has to have. Empty until a host of the rollout has resolved it.
	// +optional
	Digest string `json:"digest,omitempty"`

	// prefetch defines what to do with the image before the trigger.
	// +optional
	Prefetch PrefetchPolicy `json:"prefetch,omitempty"`

	// imageVerification of the ElementalCluster: whose signature the image needs.
	// +optional
	ImageVerification *ImageVerification `json:"imageVerification,omitempty"`

	// osVersionManagement is the OS to upgrade to.
	// +optional
	OSVersionManagement OSVersionManagement `json:"osVersionManagement,omitempty,omitzero"`
}

// HostBoot identifies a boot of a host.
type HostBoot struct {
	// bootID of the boot.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	BootID string `json:"bootID"`

	// digest of the image that was booted. Empty if the OS has none, as one that was installed from media.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// MaxBootIDs is the maximum length of status.bootIDs: the smallest that shows that a boot has come back.
const MaxBootIDs = 3

// ElementalHostStatus is the observed state of a host. All fields except the conditions, keyFingerprint and bootIDs are
// reported by its agent, which reports all of them again whenever it reconnects.
type ElementalHostStatus struct {
	// conditions of the host: Ready, Approved, RegistrationReady, InstallationReady, BootstrapReady,
	// OSVersionReady, ResetReady, IdentityInUseTwice, WorkDirVolatile, AgentOutdated, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// keyFingerprint is the SHA-256 of the host's public key, as shown by "elemental-agent status" on the host's console.
	// Compare the two before you set spec.approved.
	// +optional
	KeyFingerprint string `json:"keyFingerprint,omitempty"`

	// bootIDs are the boots that the host reported last, the current one first. Boot ids are unique, so if one comes back,
	// two machines report with the same key.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	BootIDs []string `json:"bootIDs,omitempty"`

	// phase is what the agent is doing.
	// +optional
	Phase HostPhase `json:"phase,omitempty"`

	// message explains phase if there is a problem.
	// +optional
	Message string `json:"message,omitempty"`

	// installed is true once the host has an installed OS.
	// +optional
	Installed bool `json:"installed,omitempty"`

	// bootstrapped is true once the host has applied its bootstrap data.
	// +optional
	Bootstrapped bool `json:"bootstrapped,omitempty"`

	// addresses of the host.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// os is the booted OS.
	// +optional
	OS HostOS `json:"os,omitempty,omitzero"`

	// agent is the agent that reports.
	// +optional
	Agent HostAgent `json:"agent,omitempty,omitzero"`

	// upgrade is the host's progress with the attempt in spec.upgrade.
	// +optional
	Upgrade *HostUpgradeStatus `json:"upgrade,omitempty"`
}

// HostPhase is what an agent is doing. The values are the predecessor's.
type HostPhase string

// Phases of a host.
const (
	HostPhaseRegistering            HostPhase = "Registering"
	HostPhaseFinalizingRegistration HostPhase = "Finalizing Registration"
	HostPhaseInstalling             HostPhase = "Installing"
	HostPhaseBootstrapping          HostPhase = "Bootstrapping"
	HostPhaseRunning                HostPhase = "Running"
	HostPhaseTriggeringReset        HostPhase = "Triggering Reset"
	HostPhaseResetting              HostPhase = "Resetting"
	// HostPhaseReset: the host has been wiped. It is set by the Elemental API, not reported as a phase by agents.
	HostPhaseReset                HostPhase = "Reset"
	HostPhaseReconcilingOSVersion HostPhase = "Reconciling OS Version"
)

// HostOS is the OS that a host booted, determined by the booted snapshot and not by the default of the next boot.
type HostOS struct {
	// imageURI the booted snapshot was made from.
	// +optional
	ImageURI string `json:"imageURI,omitempty"`
	// digest of that image's manifest for the host's platform.
	// +optional
	Digest string `json:"digest,omitempty"`
	// snapshot is the id of the booted snapshot.
	// +optional
	Snapshot int32 `json:"snapshot,omitempty"`
	// bootMode is active, passive, recovery or live.
	// +optional
	BootMode string `json:"bootMode,omitempty"`
	// bootID is the kernel's boot id; it is new after every boot.
	// +optional
	BootID string `json:"bootID,omitempty"`
	// version is PRETTY_NAME of the booted OS.
	// +optional
	Version string `json:"version,omitempty"`
	// freeBytes on the state partition, measured when an attempt is prepared.
	// +optional
	FreeBytes int64 `json:"freeBytes,omitempty"`
}

// HostAgent is the agent of a host.
type HostAgent struct {
	// version of the agent.
	// +optional
	Version string `json:"version,omitempty"`
	// volatileWorkDir is the reason why the agent's state would be lost with the next reboot; empty if it would not.
	// +optional
	VolatileWorkDir string `json:"volatileWorkDir,omitempty"`
	// outdated is true if the agent is of version 0.7 or older. All of its requests are refused: the host runs on, and is not managed.
	// The first report of a current agent removes it.
	// +optional
	Outdated bool `json:"outdated,omitempty"`
	// lastSeen is the time of the agent's last report. An idle agent does not report.
	// +optional
	LastSeen metav1.Time `json:"lastSeen,omitempty,omitzero"`
}

// HostUpgradePhase is the phase of an attempt on a host.
type HostUpgradePhase string

// Phases of an attempt on a host, in their order; the last three are final.
const (
	// HostUpgradeAcknowledged: the agent knows of the attempt. Older agents report it; current ones begin with Fetching.
	HostUpgradeAcknowledged HostUpgradePhase = "Acknowledged"
	// HostUpgradeFetching: the image is being resolved, downloaded and verified.
	HostUpgradeFetching HostUpgradePhase = "Fetching"
	// HostUpgradeFetched: the image can be applied; the agent waits for the trigger.
	HostUpgradeFetched HostUpgradePhase = "Fetched"
	// HostUpgradeApplying: the image is being written. From here on nothing can be undone.
	HostUpgradeApplying HostUpgradePhase = "Applying"
	// HostUpgradeRebooting: the image is written and the host reboots.
	HostUpgradeRebooting HostUpgradePhase = "Rebooting"
	// HostUpgradeAssessing: the host has booted and assesses its boot.
	HostUpgradeAssessing HostUpgradePhase = "Assessing"
	// HostUpgradeSucceeded: the desired OS is booted and passed its assessment.
	HostUpgradeSucceeded HostUpgradePhase = "Succeeded"
	// HostUpgradeFailed: the attempt ended before a reboot; the host is unchanged.
	HostUpgradeFailed HostUpgradePhase = "Failed"
	// HostUpgradeRolledBack: the host rebooted and runs an OS other than the desired one.
	HostUpgradeRolledBack HostUpgradePhase = "RolledBack"
)

// HostUpgradeStatus is the progress of a host with an attempt.
type HostUpgradeStatus struct {
	// attempt is the id of the attempt.
	// +required
	Attempt string `json:"attempt"`
	// phase of the attempt on the host.
	// +required
	Phase HostUpgradePhase `json:"phase"`
	// digest that the image was resolved to.
	// +optional
	Digest string `json:"digest,omitempty"`
	// imageBytes is the size of the image's layers.
	// +optional
	ImageBytes int64 `json:"imageBytes,omitempty"`
	// freeBytes on the state partition when the attempt was prepared.
	// +optional
	FreeBytes int64 `json:"freeBytes,omitempty"`
	// fromBootID is the boot in which the image was applied.
	// +optional
	FromBootID string `json:"fromBootID,omitempty"`
	// healthy is, after a rollback, whether the former OS passed its assessment.
	// +optional
	Healthy bool `json:"healthy,omitempty"`
	// message describes the problem, if any.
	// +optional
	Message string `json:"message,omitempty"`
	// checks are the results of the checks that the host ran before and after its reboot, in order. If there are more than fit
	// here, those that passed are omitted first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Checks []HostCheck `json:"checks,omitempty"`
	// progress of the current operation of the host, if it is measured. It is a few seconds old, and removed when that is done.
	// +optional
	Progress *HostUpgradeProgress `json:"progress,omitempty"`
}

// HostUpgradeProgress is the progress of a host with a long operation of an attempt.
type HostUpgradeProgress struct {
	// stage is the operation: Download, Write, or Verify, which compares what is on the disk with what should have been written.
	// +required
	Stage string `json:"stage"`
	// bytes that are done.
	// +required
	Bytes int64 `json:"bytes"`
	// totalBytes of the operation; 0 if unknown.
	// +optional
	TotalBytes int64 `json:"totalBytes,omitempty"`
}

// The rule about pubKey is at the root and not at spec, because there it would not be evaluated when all of spec is
// removed.

// ElementalHost is a machine with an Elemental OS that has registered.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec) || !has(oldSelf.spec.pubKey) || (has(self.spec) && has(self.spec.pubKey) && self.spec.pubKey == oldSelf.spec.pubKey)",message="pubKey is what the host is known by and cannot be changed: delete the ElementalHost and let the host register again"
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalhosts,scope=Namespaced,categories=cluster-api,shortName=ehost
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","clusterctl.cluster.x-k8s.io/move=","clusterctl.cluster.x-k8s.io/move-hierarchy="}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster to which the host belongs"
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".metadata.labels['elementalhost\\.infrastructure\\.cluster\\.x-k8s\\.io/machine-name']",description="Machine that the host serves"
// +kubebuilder:printcolumn:name="Approved",type="boolean",JSONPath=".spec.approved",description="Whether the host's identity has been verified"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the host is ready"
// +kubebuilder:printcolumn:name="OS",type="string",JSONPath=".status.os.version",description="Booted OS"
// +kubebuilder:printcolumn:name="Agent",type="string",JSONPath=".status.phase",description="What the agent is doing"
// +kubebuilder:printcolumn:name="In-place",type="string",JSONPath=".metadata.labels['elementalhost\\.infrastructure\\.cluster\\.x-k8s\\.io/in-place-upgrade']",description="Trigger of an in-place upgrade, or outcome of one by hand"
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".status.os.bootMode",description="Boot mode",priority=1
// +kubebuilder:printcolumn:name="Digest",type="string",JSONPath=".status.os.digest",description="Booted image",priority=1
// +kubebuilder:printcolumn:name="Key",type="string",JSONPath=".status.keyFingerprint",description="Fingerprint of the host's key",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ElementalHost struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec ElementalHostSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status ElementalHostStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object, for Cluster API's condition helpers.
func (h *ElementalHost) GetConditions() []metav1.Condition { return withReasons(h.Status.Conditions) }

// SetConditions replaces the conditions of the object.
func (h *ElementalHost) SetConditions(conditions []metav1.Condition) {
	h.Status.Conditions = conditions
}

// ElementalHostList is a list of ElementalHost.
//
// +kubebuilder:object:root=true
type ElementalHostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalHost `json:"items"`
}
