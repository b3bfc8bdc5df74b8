// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels of an ElementalHost. Those up to ResetLabel have the predecessor's names, so that its users'
// selectors keep working.
const (
	// MachineNameLabel names the CAPI Machine that an ElementalHost serves.
	MachineNameLabel = "elementalhost.infrastructure.cluster.x-k8s.io/machine-name"
	// ElementalMachineNameLabel names the ElementalMachine that an ElementalHost serves.
	ElementalMachineNameLabel = "elementalhost.infrastructure.cluster.x-k8s.io/elemental-machine-name"
	// InstalledLabel is "true" once the host has an installed OS; only such a host can be associated.
	InstalledLabel = "elementalhost.infrastructure.cluster.x-k8s.io/installed"
	// BootstrappedLabel is "true" once the host has applied its bootstrap data.
	BootstrappedLabel = "elementalhost.infrastructure.cluster.x-k8s.io/bootstrapped"
	// NeedsResetLabel is "true" while the host is told to reset itself.
	NeedsResetLabel = "elementalhost.infrastructure.cluster.x-k8s.io/needs-reset"
	// ResetLabel is "true" once the host has reset itself.
	ResetLabel = "elementalhost.infrastructure.cluster.x-k8s.io/reset"

	// InPlaceUpgradeLabel is the trigger of an OS upgrade on a bootstrapped host, and afterwards the outcome of one that a
	// user has triggered; see the InPlaceUpgrade values. That of an attempt is in its ElementalHostUpgrade: with
	// the end of the attempt the label is removed.
	InPlaceUpgradeLabel = "elementalhost.infrastructure.cluster.x-k8s.io/in-place-upgrade"
	// InPlaceUpdateLabel is the predecessor's last name of InPlaceUpgradeLabel. It is accepted
	// with the value "pending" and replaced by InPlaceUpgradeLabel.
	InPlaceUpdateLabel = "elementalhost.infrastructure.cluster.x-k8s.io/in-place-update"
)

// Values of InPlaceUpgradeLabel.
const (
	// InPlaceUpgradePending makes the agent upgrade, reboot and assess its boot.
	InPlaceUpgradePending = "pending"
	// InPlaceUpgradeDone means that the host booted the desired OS and the boot passed its assessment.
	InPlaceUpgradeDone = "done"
	// InPlaceUpgradeFailed means that the upgrade ended before a reboot; the host is unchanged.
	InPlaceUpgradeFailed = "failed"
	// InPlaceUpgradeRolledBack means that the host rebooted and runs its former OS again.
	InPlaceUpgradeRolledBack = "rolled-back"
)

// Annotations of an ElementalHost.
const (
	// RegistrationNameAnnotation names the ElementalRegistration through which a host registered.
	RegistrationNameAnnotation = "elementalregistration.infrastructure.cluster.x-k8s.io/name"
	// RegistrationNamespaceAnnotation is the namespace of that ElementalRegistration.
	RegistrationNamespaceAnnotation = "elementalregistration.infrastructure.cluster.x-k8s.io/namespace"
	// ProposedLabelsAnnotation lists, separated by commas, the labels of a host that it proposed itself
	// when it registered and that its registration does not set. They are untrusted, so selectors ignore
	// them; an operator who has verified a label removes it from the list.
	ProposedLabelsAnnotation = "elementalhost.infrastructure.cluster.x-k8s.io/proposed-labels"
	// LastAttemptAnnotation records the last upgrade by hand that has ended as "<run>=<outcome>@<digest>". That of an ElementalHostUpgrade is in its EndedAnnotation.
	// It is an annotation because `clusterctl move` does not preserve status.
	LastAttemptAnnotation = "elementalhost.infrastructure.cluster.x-k8s.io/last-attempt"
	// ManualUpgradesAnnotation counts the manual upgrades that have ended on the host. The next one has the
	// next number in its id; with the same id the host would not carry it out again.
	ManualUpgradesAnnotation = "elementalhost.infrastructure.cluster.x-k8s.io/manual-upgrades"
)

// Annotations on objects of the workload cluster.
const (
	// NodeUpgradePauseAnnotation on a Node pauses its upgrade before the cordon. Removing it resumes the upgrade.
	NodeUpgradePauseAnnotation = "infrastructure.cluster.x-k8s.io/elemental-node-upgrade-pause"
	// PausedByAnnotation on a Node names the ElementalRollout that paused the Node or has observed an
	// operator's pause. If only this annotation is left, an operator has removed the pause.
	PausedByAnnotation = "infrastructure.cluster.x-k8s.io/elemental-paused-by"
	// CordonedByAnnotation on a Node names the attempt that made it unschedulable. A Node without it is
	// never uncordoned.
	CordonedByAnnotation = "infrastructure.cluster.x-k8s.io/elemental-cordoned-by"
	// MarkedByAnnotation on the only Node of a cluster names the attempt that upgrades its host. It stands for the cordon, with which
	// nothing could run in the cluster.
	MarkedByAnnotation = "infrastructure.cluster.x-k8s.io/elemental-upgraded-by"
	// PersonsCordonAnnotation on a Node that Rancher drains names the field manager that had made it unschedulable before. Rancher does
	// not remember that, so that the attempt cordons the Node again in the end.
	PersonsCordonAnnotation = "infrastructure.cluster.x-k8s.io/elemental-persons-cordon"
	// ReplenishmentAnnotation on Longhorn's Setting replica-replenishment-wait-interval records, as JSON, its value
	// before the first of the attempts whose nodes are down ("saved"), the value that was set for them ("set"), and
	// those attempts ("attempts"). The last of them restores the value.
	ReplenishmentAnnotation = "infrastructure.cluster.x-k8s.io/elemental-replenishment-wait"
)

// Labels and annotations on objects of KubeVirt in the workload cluster.
const (
	// VMPolicyLabel on a VirtualMachine, or on its VirtualMachineInstance, overrides the policy of the cluster for it when
	// its node is evacuated, whether or not it can be migrated. Its values are those of VMPolicy.
	VMPolicyLabel = "infrastructure.cluster.x-k8s.io/elemental-vm-policy"
	// HarvesterMaintainModeLabel is Harvester's label for the same; VMPolicyLabel counts for more.
	// Source: Harvester, pkg/util/drainhelper.
	HarvesterMaintainModeLabel = "harvesterhci.io/maintain-mode-strategy"
	// VMPowerStateAnnotation on a VirtualMachine records, as JSON, its state before an attempt stopped it: the
	// attempt, its Node, and the field and the value that the stop replaced. It is written by the patch that stops it, and
	// removed by the patch that restarts it.
	VMPowerStateAnnotation = "infrastructure.cluster.x-k8s.io/elemental-vm-power-state"
	// VMStoppedLabel is on every VirtualMachine with a VMPowerStateAnnotation, so that those can be listed.
	VMStoppedLabel = "infrastructure.cluster.x-k8s.io/elemental-vm-stopped"
	// EvacuationLabel is on every VirtualMachineInstanceMigration that an attempt created, so that those can be listed.
	EvacuationLabel = "infrastructure.cluster.x-k8s.io/elemental-evacuation"
	// EvacuatedByAnnotation names the attempt: on a VirtualMachineInstanceMigration that it created, and on a Node that it
	// tainted for a KubeVirt before 1.0, which requires that.
	EvacuatedByAnnotation = "infrastructure.cluster.x-k8s.io/elemental-evacuated-by"
)

// Values of HarvesterMaintainModeLabel. Harvester sets Migrate on every VirtualMachine by default, so with
// that value the policy of the cluster applies.
const (
	HarvesterMigrate                        = "Migrate"
	HarvesterShutdown                       = "Shutdown"
	HarvesterShutdownAndRestartAfterEnable  = "ShutdownAndRestartAfterEnable"
	HarvesterShutdownAndRestartAfterDisable = "ShutdownAndRestartAfterDisable"
)

// Annotations and labels on objects of the management cluster.
const (
	// ClaimingHostAnnotation on an ElementalMachine names the ElementalHost that it is about to claim. It
	// is written before the host is changed, so that a machine never claims a second host after a crash,
	// and removed with the write of spec.hostRef.
	ClaimingHostAnnotation = "infrastructure.cluster.x-k8s.io/elemental-claiming-host"
	// PreDrainHookAnnotation on a Machine that is deleted keeps Cluster API from draining its Node until the virtual
	// machines are evacuated. It is on Machines whose Nodes have KubeVirt; its value is PreDrainHookOwner.
	// Source: Cluster API, "Machine deletion phase hooks".
	PreDrainHookAnnotation = "pre-drain.delete.hook.machine.cluster.x-k8s.io/elemental-virtual-machines"
	// PreDrainHookOwner is the value of PreDrainHookAnnotation.
	PreDrainHookOwner = "elemental"
	// EndedAnnotation on an ElementalHostUpgrade, or an ElementalClusterUpgrade, is the phase in which it ended, followed by a slash and FormerOSNotGood if
	// that applies. "clusterctl move" does not preserve status, and without the annotation an ended attempt would run again.
	EndedAnnotation = "infrastructure.cluster.x-k8s.io/elemental-ended"
	// CreatedAnnotation on an ElementalHostUpgrade, or an ElementalClusterUpgrade, is the time of its first creation, in RFC 3339. "clusterctl move" recreates
	// all objects, and the order of attempts determines which is the last one.
	CreatedAnnotation = "infrastructure.cluster.x-k8s.io/elemental-created"
	// HostAnnotation on a Machine names the ElementalHost that serves it.
	HostAnnotation = "infrastructure.cluster.x-k8s.io/elemental-host"
	// OSReachedAnnotation on an ElementalMachine is the hash of the last OS that it specified and that its host was observed
	// to run. If the machine's template has since given it another OS and no attempt upgrades the host to it, an update was
	// lost; if the host runs another OS than it had reached, it has fallen back.
	OSReachedAnnotation = "infrastructure.cluster.x-k8s.io/elemental-os-reached"
	// NotedTemplateAnnotation on an ElementalMachine is the first part of its note: the ElementalMachineTemplate whose content the machine has, or is brought to.
	NotedTemplateAnnotation = "infrastructure.cluster.x-k8s.io/elemental-noted-template"
	// NotedOSAnnotation on an ElementalMachine is the second part: the hash of the OS that the machine was made with, first seen with, or assigned to, which
	// is before its host runs it. A template whose hash differs has been changed since, which starts a rollout.
	NotedOSAnnotation = "infrastructure.cluster.x-k8s.io/elemental-noted-os"
	// RolloutAnnotation on an ElementalMachine is the third part: the ElementalRollout that brings the machine to the OS. It is removed when the host runs that.
	RolloutAnnotation = "infrastructure.cluster.x-k8s.io/elemental-rollout"
	// RancherPreDrainAnnotation and RancherPostDrainAnnotation on a plan secret of Rancher answer its hooks of these names: their value is
	// that of the drain. They are listed in the drain options of the Cluster that Rancher has provisioned. Their prefix is none that
	// Rancher's planner resets.
	RancherPreDrainAnnotation  = "infrastructure.cluster.x-k8s.io/elemental-pre-drain"
	RancherPostDrainAnnotation = "infrastructure.cluster.x-k8s.io/elemental-post-drain"
	// HookRetryAnnotation on an ElementalMachine is the time when Cluster API was last triggered to call a failing
	// hook again. It is removed when the calls succeed.
	HookRetryAnnotation = "infrastructure.cluster.x-k8s.io/elemental-hook-retry"
	// HealthLookAnnotation on a control plane Machine is the time when KubeadmControlPlane was last triggered to check its
	// health again, which it would not have done by itself for minutes.
	HealthLookAnnotation = "infrastructure.cluster.x-k8s.io/elemental-health-look"
	// AttemptAnnotation on an ElementalHostUpgrade is its id, which is recorded in all annotations that the attempt sets. It is
	// preserved by "clusterctl move".
	AttemptAnnotation = "infrastructure.cluster.x-k8s.io/elemental-attempt"
	// SkipRemediationByAnnotation on a Machine names the attempt that set CAPI's skip-remediation.
	SkipRemediationByAnnotation = "infrastructure.cluster.x-k8s.io/elemental-skip-remediation-by"
	// ApprovedRolloutAnnotation on a Machine names the ElementalRollout for which a user has approved its node. It applies to all attempts of that
	// rollout, and is removed when one has succeeded or was superseded.
	ApprovedRolloutAnnotation = "infrastructure.cluster.x-k8s.io/elemental-approved-rollout"

	// HeldWorkloadsAnnotation is on the KubeVirt of a workload cluster while an ElementalClusterUpgrade keeps it from updating virtual machines by itself: the
	// workloadUpdateMethods that it had, and the imageTag that the upgrade has set, as JSON. The methods are put back when the nodes are done, or the upgrade ends.
	HeldWorkloadsAnnotation = "infrastructure.cluster.x-k8s.io/elemental-held-workload-updates"
	// GateOfLabel on a Job of a workload cluster is the UID of the ElementalClusterUpgrade whose gate it is.
	GateOfLabel = "infrastructure.cluster.x-k8s.io/elemental-gate-of"
	// GateNameLabel on a Job of a workload cluster names the gate.
	GateNameLabel = "infrastructure.cluster.x-k8s.io/elemental-gate"
	// GatesAnnotation on a ServiceAccount of a workload cluster, with value GatesAllowed, allows gates of ElementalClusterUpgrades to be evaluated by
	// its rights. The owner of the workload cluster sets it.
	GatesAnnotation = "infrastructure.cluster.x-k8s.io/elemental-gates"
	// GatesAllowed is the value of GatesAnnotation.
	GatesAllowed = "allowed"
	// FormerOSAnnotation on an ElementalClusterUpgrade has, as JSON by the name of the template, the osVersionManagement that it has replaced.
	// It is what a cancellation with Revert puts back, and is preserved by "clusterctl move".
	FormerOSAnnotation = "infrastructure.cluster.x-k8s.io/elemental-former-os"
	// ResolvedOSVersionAnnotation on an ElementalMachineTemplate is the image to which its managedOSVersionName was resolved,
	// as JSON: {"managedOSVersionName": ..., "imageUri": ..., "resourceVersion": ...}. All machines of the template
	// get this image, even if the ManagedOSVersion changes; remove the annotation to have it looked up again.
	ResolvedOSVersionAnnotation = "infrastructure.cluster.x-k8s.io/elemental-resolved-os-version"
	// ResolvedDigestAnnotation on an ElementalClusterUpgrade is the digest to which the first host has resolved its image, as
	// JSON: {"imageUri": ..., "digest": ...}. All nodes get it, even if the tag moves. It is preserved by "clusterctl move".
	ResolvedDigestAnnotation = "infrastructure.cluster.x-k8s.io/elemental-resolved-digest"
	// FeatureGatesAnnotation on the ExtensionConfig asserts that RuntimeSDK and InPlaceUpdates are enabled
	// if that cannot be read from the Deployments of CAPI. Its value is "enabled".
	FeatureGatesAnnotation = "infrastructure.cluster.x-k8s.io/elemental-in-place-feature-gates"
	// FeatureGatesEnabled is the value of FeatureGatesAnnotation that asserts the gates.
	FeatureGatesEnabled = "enabled"
	// SkipPreflightAnnotation on an ElementalMachine waives preflight checks of its node, by name, separated by commas. It is
	// no field there: a field of the spec would be a difference to the template, for which Cluster API replaces Machines. The
	// other kinds have spec.skipPreflight.
	SkipPreflightAnnotation = "infrastructure.cluster.x-k8s.io/elemental-skip-preflight"
)

// ExtensionNamespaceLabel on a Namespace is the consent to upgrades in place of its clusters, whatever starts them, but for Rancher's drain; the value is
// ExtensionNamespaceEnabled. Our ExtensionConfig selects Namespaces by it, too.
const (
	ExtensionNamespaceLabel   = "infrastructure.cluster.x-k8s.io/elemental-in-place-upgrades"
	ExtensionNamespaceEnabled = "enabled"
)

// Finalizers.
const (
	// ElementalMachineFinalizer is kept until the host of an ElementalMachine has been released. The
	// predecessor used the same string on hosts, so both kinds carry it.
	ElementalMachineFinalizer = "elementalmachine.infrastructure.cluster.x-k8s.io"
	// ElementalClusterUpgradeFinalizer is kept until an upgrade that is deleted has been cancelled: nodes that are in work are finished, and
	// the others are held.
	ElementalClusterUpgradeFinalizer = "elementalclusterupgrade.infrastructure.cluster.x-k8s.io"
	// ElementalHostUpgradeFinalizer is kept until the changes of an attempt (cordon, annotations) have been undone.
	ElementalHostUpgradeFinalizer = "elementalhostupgrade.infrastructure.cluster.x-k8s.io"
)

// BlockMoveAnnotation makes `clusterctl move` wait. It is set on an ElementalHost between the cordon
// and the end of its upgrade; while the Cluster is paused, only until the host has reported the outcome of its reboot.
// Source: clusterctl provider contract, "Move".
const BlockMoveAnnotation = "clusterctl.cluster.x-k8s.io/block-move"

// ClassTemplatesAnnotation on an ElementalCluster of a ClusterClass identifies the last observed content of the
// class's ElementalMachineTemplates. It changes when one of them changes, which triggers Cluster API to reconcile the topology.
const ClassTemplatesAnnotation = "infrastructure.cluster.x-k8s.io/elemental-class-templates"
