// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels of an ElementalHost. Those up to ResetLabel are spelled as the predecessor spelled them,
// so that its users' selectors keep working.
const (
	// MachineNameLabel names the CAPI Machine that an ElementalHost serves.
	MachineNameLabel = "elementalhost.infrastructure.cluster.x-k8s.io/machine-name"
	// ElementalMachineNameLabel names the ElementalMachine that an ElementalHost serves.
	ElementalMachineNameLabel = "elementalhost.infrastructure.cluster.x-k8s.io/elemental-machine-name"
	// InstalledLabel is "true" once the host has an installed OS; only such a host can be associated.
	InstalledLabel = "elementalhost.infrastructure.cluster.x-k8s.io/installed"
	// BootstrappedLabel is "true" once the host has applied its bootstrap data.
	BootstrappedLabel = "elementalhost.infrastructure.cluster.x-k8s.io/bootstrapped"
	// NeedsResetLabel is "true" while the host is asked to reset itself to factory state.
	NeedsResetLabel = "elementalhost.infrastructure.cluster.x-k8s.io/needs-reset"
	// ResetLabel is "true" once the host has reset itself.
	ResetLabel = "elementalhost.infrastructure.cluster.x-k8s.io/reset"

	// InPlaceUpgradeLabel is the trigger of an OS upgrade on a bootstrapped host and, afterwards, its
	// outcome; see the InPlaceUpgrade values.
	InPlaceUpgradeLabel = "elementalhost.infrastructure.cluster.x-k8s.io/in-place-upgrade"
	// InPlaceUpdateLabel is the predecessor's last spelling of InPlaceUpgradeLabel. It is accepted
	// with the value "pending" and moved over to InPlaceUpgradeLabel.
	InPlaceUpdateLabel = "elementalhost.infrastructure.cluster.x-k8s.io/in-place-update"
)

// Values of InPlaceUpgradeLabel.
const (
	// InPlaceUpgradePending makes the agent upgrade, reboot and assess its boot.
	InPlaceUpgradePending = "pending"
	// InPlaceUpgradeDone says that the host booted the wanted OS and found its boot good.
	InPlaceUpgradeDone = "done"
	// InPlaceUpgradeFailed says that the upgrade ended before a reboot; the host is unchanged.
	InPlaceUpgradeFailed = "failed"
	// InPlaceUpgradeRolledBack says that the host rebooted and runs its former OS again.
	InPlaceUpgradeRolledBack = "rolled-back"
)

// Annotations of an ElementalHost.
const (
	// RegistrationNameAnnotation names the ElementalRegistration through which a host came.
	RegistrationNameAnnotation = "elementalregistration.infrastructure.cluster.x-k8s.io/name"
	// RegistrationNamespaceAnnotation is the namespace of that ElementalRegistration.
	RegistrationNamespaceAnnotation = "elementalregistration.infrastructure.cluster.x-k8s.io/namespace"
	// ProposedLabelsAnnotation lists, separated by commas, the labels of a host that it proposed itself
	// when it registered and that its registration does not set. Nobody vouches for them, so they do
	// not count when a selector is matched; an operator who vouches for one takes it off the list.
	ProposedLabelsAnnotation = "elementalhost.infrastructure.cluster.x-k8s.io/proposed-labels"
	// LastAttemptAnnotation records the last finished attempt as "<attempt>=<outcome>@<digest>".
	// It is an annotation because `clusterctl move` does not carry status.
	LastAttemptAnnotation = "elementalhost.infrastructure.cluster.x-k8s.io/last-attempt"
	// ManualUpgradesAnnotation counts the upgrades by hand that the host has ended. The next one has the
	// next number in its id, so that it is not taken for one that was carried out before.
	ManualUpgradesAnnotation = "elementalhost.infrastructure.cluster.x-k8s.io/manual-upgrades"
)

// Marks on objects of the workload cluster.
const (
	// NodeUpgradePauseAnnotation on a Node holds its upgrade before the cordon. Removing it resumes.
	NodeUpgradePauseAnnotation = "infrastructure.cluster.x-k8s.io/node-upgrade-pause"
	// PausedByAnnotation on a Node names the rollout, by its template, that paused the Node or took note of a
	// person's pause. A pause that is gone while this is there was taken away by a person.
	PausedByAnnotation = "infrastructure.cluster.x-k8s.io/paused-by"
	// CordonedByAnnotation on a Node names the attempt that made it unschedulable. Only a cordon
	// with this mark is ever taken back.
	CordonedByAnnotation = "infrastructure.cluster.x-k8s.io/cordoned-by"
	// ReplenishmentAnnotation on Longhorn's Setting replica-replenishment-wait-interval records, as JSON, its value
	// before the first of the attempts whose nodes are down ("saved"), the value that it was given for them ("set"), and
	// those attempts ("attempts"). The last of them restores it.
	ReplenishmentAnnotation = "infrastructure.cluster.x-k8s.io/replenishment-wait"
)

// Labels and marks on objects of KubeVirt in the workload cluster.
const (
	// VMPolicyLabel on a VirtualMachine, or on its VirtualMachineInstance, says what becomes of that one when its node
	// is evacuated, whatever the policy of the cluster is and whether or not it can be migrated. Its values are those of
	// VMPolicy.
	VMPolicyLabel = "infrastructure.cluster.x-k8s.io/vm-policy"
	// HarvesterMaintainModeLabel is Harvester's label for the same; VMPolicyLabel counts for more.
	// Source: Harvester, pkg/util/drainhelper.
	HarvesterMaintainModeLabel = "harvesterhci.io/maintain-mode-strategy"
	// VMPowerStateAnnotation on a VirtualMachine records, as JSON, how it was before an attempt stopped it: the
	// attempt, its Node, and the field and the value that the stop replaced. It is written with the stop, and goes with
	// the restart.
	VMPowerStateAnnotation = "infrastructure.cluster.x-k8s.io/vm-power-state"
	// VMStoppedLabel is on every VirtualMachine with a VMPowerStateAnnotation, so that those are found.
	VMStoppedLabel = "infrastructure.cluster.x-k8s.io/vm-stopped"
	// EvacuationLabel is on every VirtualMachineInstanceMigration that an attempt made, so that those are found.
	EvacuationLabel = "infrastructure.cluster.x-k8s.io/evacuation"
	// EvacuatedByAnnotation names the attempt: on a VirtualMachineInstanceMigration that it made, and on a Node that it
	// tainted for a KubeVirt that is old enough to need that.
	EvacuatedByAnnotation = "infrastructure.cluster.x-k8s.io/evacuated-by"
)

// Values of HarvesterMaintainModeLabel. Harvester puts Migrate on every VirtualMachine that says nothing else, so
// that value leaves the decision to the policy of the cluster.
const (
	HarvesterMigrate                        = "Migrate"
	HarvesterShutdown                       = "Shutdown"
	HarvesterShutdownAndRestartAfterEnable  = "ShutdownAndRestartAfterEnable"
	HarvesterShutdownAndRestartAfterDisable = "ShutdownAndRestartAfterDisable"
)

// Marks on objects of the management cluster.
const (
	// ClaimingHostAnnotation on an ElementalMachine names the ElementalHost that it sets out to claim. It
	// is written before the host is touched, so that a crash never makes a machine claim a second one,
	// and removed with the write of spec.hostRef.
	ClaimingHostAnnotation = "infrastructure.cluster.x-k8s.io/claiming-host"
	// PreDrainHookAnnotation on a Machine keeps Cluster API from draining its Node, when it is deleted, until the virtual
	// machines have left it. It is on Machines whose Nodes have KubeVirt; its value is PreDrainHookOwner.
	// Source: Cluster API, "Machine deletion phase hooks".
	PreDrainHookAnnotation = "pre-drain.delete.hook.machine.cluster.x-k8s.io/elemental-virtual-machines"
	// PreDrainHookOwner is the value of PreDrainHookAnnotation.
	PreDrainHookOwner = "elemental"
	// EndedAnnotation on an ElementalHostUpgrade is the phase that it ended in, and FormerOSNotGood behind a slash where that
	// was found: "clusterctl move" takes no status along, and history must not begin anew.
	EndedAnnotation = "infrastructure.cluster.x-k8s.io/ended"
	// CreatedAnnotation on an ElementalHostUpgrade is when it was created first, in RFC 3339: "clusterctl move" creates all
	// anew, and the order of attempts decides which is the last one.
	CreatedAnnotation = "infrastructure.cluster.x-k8s.io/created"
	// HostAnnotation on a Machine names the ElementalHost that serves it.
	HostAnnotation = "infrastructure.cluster.x-k8s.io/elemental-host"
	// OSReachedAnnotation on an ElementalMachine is the hash of the last OS that it asked for and its host was seen to
	// run. When the machine's template has given it another since, and nothing brings the host there, then an update was
	// lost; a host that left the OS that it had reached has fallen back.
	OSReachedAnnotation = "infrastructure.cluster.x-k8s.io/os-reached"
	// HookRetryAnnotation on an ElementalMachine is when Cluster API was last made to call a hook again
	// whose calls fail. It is gone when they do not.
	HookRetryAnnotation = "infrastructure.cluster.x-k8s.io/hook-retry"
	// HealthLookAnnotation on a control plane Machine is when KubeadmControlPlane was last made to look at its health
	// again, where it would not have by itself for minutes.
	HealthLookAnnotation = "infrastructure.cluster.x-k8s.io/health-look"
	// AttemptAnnotation on an ElementalHostUpgrade is its id, which is in every mark that the attempt leaves. It goes along
	// when the cluster is moved to another management cluster.
	AttemptAnnotation = "infrastructure.cluster.x-k8s.io/attempt"
	// SkipRemediationByAnnotation on a Machine names the attempt that set CAPI's skip-remediation.
	SkipRemediationByAnnotation = "infrastructure.cluster.x-k8s.io/skip-remediation-by"
	// ApprovedRolloutAnnotation on a Machine names the rollout, by its template, for which a person has let its
	// node go on. It holds for all attempts of that rollout, and is gone when the rollout is over.
	ApprovedRolloutAnnotation = "infrastructure.cluster.x-k8s.io/approved-rollout"
	// RolloutCloneAnnotation on an owner (a MachineDeployment, a control plane) names the template
	// clone it was last pointed to by us. It tells a reference that somebody reverted from one
	// that was never turned.
	RolloutCloneAnnotation = "infrastructure.cluster.x-k8s.io/rollout-clone"
	// RolloutHoldPrefix is how the value of Cluster API's annotation cluster.x-k8s.io/paused begins on a
	// MachineDeployment that is held for the moment in which its reference is changed. The name of the
	// ElementalMachineTemplate follows. Any other value is somebody else's pause, which is never taken away.
	RolloutHoldPrefix = "infrastructure.cluster.x-k8s.io/rollout-of="
	// SourceTemplateLabel on an ElementalMachineTemplate clone names the template it was made from.
	SourceTemplateLabel = "infrastructure.cluster.x-k8s.io/source-template"
	// RolledOutHashAnnotation on an ElementalMachineTemplate is the hash of the content that its
	// owners were last pointed to. A template whose hash differs is waiting to be rolled out.
	RolledOutHashAnnotation = "infrastructure.cluster.x-k8s.io/rolled-out-hash"
	// RolloutOptionsAnnotation on an ElementalMachineTemplate holds, as JSON, the nodeUpgradeOption
	// that was in force when its rollout was first seen. Later edits do not change a running rollout.
	RolloutOptionsAnnotation = "infrastructure.cluster.x-k8s.io/rollout-options"
	// RolloutDigestAnnotation on an ElementalMachineTemplate is the image digest that the first host
	// of its rollout resolved. All further hosts are pinned to it.
	RolloutDigestAnnotation = "infrastructure.cluster.x-k8s.io/rollout-digest"
	// ResolvedOSVersionAnnotation on an ElementalMachineTemplate is what its managedOSVersionName was looked
	// up to, as JSON: {"managedOSVersionName": ..., "imageUri": ..., "resourceVersion": ...}. All that is made from the template
	// gets this image, whatever becomes of the ManagedOSVersion; remove it to have that looked up anew.
	ResolvedOSVersionAnnotation = "infrastructure.cluster.x-k8s.io/resolved-os-version"
	// FeatureGatesAnnotation on the ExtensionConfig asserts that RuntimeSDK and InPlaceUpdates are on
	// where they cannot be read from the Deployments of CAPI. Its value is "enabled".
	FeatureGatesAnnotation = "infrastructure.cluster.x-k8s.io/in-place-feature-gates"
	// FeatureGatesEnabled is the value of FeatureGatesAnnotation that asserts the gates.
	FeatureGatesEnabled = "enabled"
	// SkipPreflightAnnotation waives preflight checks, by name, separated by commas: on an ElementalHostUpgrade
	// for that attempt, on an ElementalMachine for its node, on an ElementalMachineTemplate for all that is
	// rolled out from it, and on an ElementalCluster for all of the cluster.
	SkipPreflightAnnotation = "infrastructure.cluster.x-k8s.io/skip-preflight"
)

// ExtensionNamespaceLabel on a Namespace opts its clusters in to the in-place hooks of this
// provider; the value is ExtensionNamespaceEnabled.
const (
	ExtensionNamespaceLabel   = "infrastructure.cluster.x-k8s.io/elemental-in-place-upgrades"
	ExtensionNamespaceEnabled = "enabled"
)

// Finalizers.
const (
	// ElementalMachineFinalizer is kept until the host of an ElementalMachine has been freed. The
	// predecessor used the same string on hosts, so both kinds carry it.
	ElementalMachineFinalizer = "elementalmachine.infrastructure.cluster.x-k8s.io"
	// ElementalHostUpgradeFinalizer is kept until the marks of an attempt have been undone.
	ElementalHostUpgradeFinalizer = "elementalhostupgrade.infrastructure.cluster.x-k8s.io"
)

// BlockMoveAnnotation makes `clusterctl move` wait. It is set on an ElementalHost between the cordon
// and the end of its upgrade; while the Cluster is paused, only until the host has said how its reboot ended.
// Source: clusterctl provider contract, "Move".
const BlockMoveAnnotation = "clusterctl.cluster.x-k8s.io/block-move"

// ClassTemplatesAnnotation on an ElementalCluster of a ClusterClass identifies what the ElementalMachineTemplates
// of the class held last. It changes when one of them is changed, which makes Cluster API look at the class.
const ClassTemplatesAnnotation = "infrastructure.cluster.x-k8s.io/class-templates"

// QuarantineAnnotation on an ElementalCluster lists image digests that a host rolled back from, as
// JSON: {"<digest>": "<host that rolled back>"}. No host of the cluster is upgraded to one of them
// until a person takes it off the list or a host succeeds with it.
const QuarantineAnnotation = "infrastructure.cluster.x-k8s.io/quarantined-digests"
