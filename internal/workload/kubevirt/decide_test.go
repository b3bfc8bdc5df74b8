// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

func decide(policy infrav1.VMPolicy, s *kubevirt.Snapshot) []kubevirt.Decision {
	return kubevirt.Decide(s, kubevirt.Question{Node: "node-1", Policy: policy, Since: began})
}

const (
	blocks, migrates, stops, stopsAndRestores = infrav1.VMPolicyBlock, infrav1.VMPolicyMigrate, infrav1.VMPolicyShutdown, infrav1.VMPolicyShutdownAndRestore

	isMigratable = "is live-migratable, evictionStrategy LiveMigrate"
	isLocal      = "is not live-migratable: DisksNotLiveMigratable: disk x is local"
	isStarting   = "is not running yet: it is Scheduled" + startsOrStops
	isCordoned   = "no other node can take it: node-2 (cordoned)"
	failedThrice = "its migration failed 3 times (guest too busy): look at it, then migrate it, stop it, or set its label infrastructure.cluster.x-k8s.io/elemental-vm-policy"
	external     = "evictionStrategy External: its own controller has to move it"
)

// startsOrStops is what helps where a virtual machine does not start.
const startsOrStops = ": wait until it runs, or kubectl --namespace " + namespace + " label --overwrite vm a " +
	"infrastructure.cluster.x-k8s.io/elemental-vm-policy=ShutdownAndRestore"

// starting has KubeVirt name no Node for the instance yet: only its Pod is bound to one.
func starting(s *kubevirt.Snapshot) {
	s.Instances[0].Status = kubevirtv1.VirtualMachineInstanceStatus{Phase: kubevirtv1.Scheduling}
	s.Pods[0].Status.Phase = corev1.PodPending
}

// alone takes the other Node away.
func alone(s *kubevirt.Snapshot) { s.Nodes = s.Nodes[:1] }

var _ = It("A virtual machine that starts on another Node is none of this one", func() {
	Expect(decide(blocks, snapshot(starting, func(s *kubevirt.Snapshot) { s.Pods[0].Spec.NodeName = "node-2" }))).To(BeEmpty())
})

var _ = DescribeTable("What becomes of a virtual machine",
	func(policy infrav1.VMPolicy, decision infrav1.VMDecision, reason string, changes ...change) {
		decisions := decide(policy, snapshot(changes...))
		Expect(decisions).To(HaveLen(1))
		Expect(decisions[0].Status()).To(Equal(infrav1.VirtualMachineStatus{Namespace: namespace, Name: "a", Decision: decision, Reason: reason}))
	},
	// By what KubeVirt does when it is evicted.
	Entry("LiveMigrate", blocks, infrav1.VMMigrate, isMigratable),
	Entry("LiveMigrate, and the policy is for those that cannot move", stops, infrav1.VMMigrate, isMigratable),
	Entry("LiveMigrateIfPossible", blocks, infrav1.VMMigrate, "is live-migratable, evictionStrategy LiveMigrateIfPossible",
		strategy(kubevirtv1.EvictionStrategyLiveMigrateIfPossible)),
	Entry("None", blocks, infrav1.VMMigrate, "is live-migratable, evictionStrategy None", strategy(kubevirtv1.EvictionStrategyNone)),
	Entry("no strategy", blocks, infrav1.VMMigrate, "is live-migratable, evictionStrategy None",
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Spec.EvictionStrategy = nil })),
	Entry("the strategy of the cluster", blocks, infrav1.VMMigrate, "is live-migratable, evictionStrategy LiveMigrateIfPossible",
		func(s *kubevirt.Snapshot) {
			s.Instances[0].Spec.EvictionStrategy = nil
			s.KubeVirt.Spec.Configuration.EvictionStrategy = new(kubevirtv1.EvictionStrategyLiveMigrateIfPossible)
		}),
	Entry("External", blocks, infrav1.VMMigrate, external, strategy(kubevirtv1.EvictionStrategyExternal)),
	Entry("External, whether or not KubeVirt could", stops, infrav1.VMMigrate, external,
		strategy(kubevirtv1.EvictionStrategyExternal), notMigratable, noTarget),
	Entry("no KubeVirt to be found", blocks, infrav1.VMMigrate, "is live-migratable, evictionStrategy LiveMigrate",
		func(s *kubevirt.Snapshot) { s.KubeVirt = nil }),

	// By policy, where it cannot be migrated.
	Entry("not migratable, Block", blocks, infrav1.VMBlock, isLocal, notMigratable),
	Entry("not migratable, Migrate", migrates, infrav1.VMBlock, isLocal, notMigratable),
	Entry("not migratable, Shutdown", stops, infrav1.VMShutdown, isLocal, notMigratable),
	Entry("not migratable, ShutdownAndRestore", stopsAndRestores, infrav1.VMShutdownAndRestore, isLocal, notMigratable),
	Entry("not migratable, LiveMigrateIfPossible", blocks, infrav1.VMBlock, isLocal, notMigratable,
		strategy(kubevirtv1.EvictionStrategyLiveMigrateIfPossible)),
	Entry("not migratable, None", blocks, infrav1.VMBlock, isLocal, notMigratable, strategy(kubevirtv1.EvictionStrategyNone)),
	Entry("of which KubeVirt says nothing", blocks, infrav1.VMBlock, "is not live-migratable: KubeVirt has not said that it is",
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.Conditions = nil })),
	Entry("that is starting", blocks, infrav1.VMBlock, isStarting,
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.Phase = kubevirtv1.Scheduled })),
	Entry("that is starting, and will not be migratable", stops, infrav1.VMBlock, isStarting, notMigratable,
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.Phase = kubevirtv1.Scheduled })),
	Entry("that hangs in its start", stops, infrav1.VMBlock,
		"is not running yet: it is Scheduling, and its Pod virt-launcher-a is Pending"+startsOrStops, starting),
	Entry("that hangs in its start, and a user stops it", blocks, infrav1.VMShutdownAndRestore, "label "+infrav1.VMPolicyLabel+" is ShutdownAndRestore",
		starting, labelled(infrav1.VMPolicyLabel, "ShutdownAndRestore")),
	Entry("whose migration waits for a node, where there is no other", stops, infrav1.VMShutdown, "there is no other node",
		alone, migration(time.Minute, kubevirtv1.MigrationPending)),
	Entry("that was evicted, where there is no other node", stopsAndRestores, infrav1.VMShutdownAndRestore, "there is no other node", alone, evicted),
	Entry("nobody to start it again, ShutdownAndRestore", stopsAndRestores, infrav1.VMBlock,
		isLocal+"; it has no VirtualMachine that could start it again", notMigratable, ownerless),
	Entry("nobody to start it again, Shutdown", stops, infrav1.VMShutdown,
		isLocal+"; it has no VirtualMachine and is deleted", notMigratable, ownerless),
	Entry("of a replica set", stopsAndRestores, infrav1.VMBlock, isLocal+"; it has no VirtualMachine that could start it again", notMigratable,
		vmi(func(v *kubevirtv1.VirtualMachineInstance) {
			v.OwnerReferences[0].Kind = "VirtualMachineInstanceReplicaSet"
		})),
	Entry("a snapshot is being taken", stops, infrav1.VMBlock,
		"is not shut down while VirtualMachineSnapshot nightly is taken ("+isLocal+")", notMigratable,
		vm(func(v *kubevirtv1.VirtualMachine) { v.Status.SnapshotInProgress = new("nightly") })),

	// By label.
	Entry("labelled Block", blocks, infrav1.VMBlock, "label infrastructure.cluster.x-k8s.io/elemental-vm-policy is Block", labelled(infrav1.VMPolicyLabel, "Block")),
	Entry("labelled Shutdown", blocks, infrav1.VMShutdown, "label infrastructure.cluster.x-k8s.io/elemental-vm-policy is Shutdown",
		labelled(infrav1.VMPolicyLabel, "Shutdown")),
	Entry("labelled ShutdownAndRestore", blocks, infrav1.VMShutdownAndRestore,
		"label infrastructure.cluster.x-k8s.io/elemental-vm-policy is ShutdownAndRestore", labelled(infrav1.VMPolicyLabel, "ShutdownAndRestore")),
	Entry("labelled Migrate", stops, infrav1.VMMigrate, isMigratable, labelled(infrav1.VMPolicyLabel, "Migrate")),
	Entry("labelled Migrate, and it cannot be", stops, infrav1.VMBlock, isLocal, labelled(infrav1.VMPolicyLabel, "Migrate"), notMigratable),
	Entry("labelled otherwise", stops, infrav1.VMBlock,
		"label infrastructure.cluster.x-k8s.io/elemental-vm-policy has the value \"stop\": use Block, Migrate, Shutdown or ShutdownAndRestore",
		labelled(infrav1.VMPolicyLabel, "stop")),
	Entry("labelled on the instance", blocks, infrav1.VMShutdown, "label infrastructure.cluster.x-k8s.io/elemental-vm-policy is Shutdown",
		vmi(func(v *kubevirtv1.VirtualMachineInstance) {
			v.Labels = map[string]string{infrav1.VMPolicyLabel: "Shutdown"}
		})),
	Entry("labelled by Harvester: Shutdown", blocks, infrav1.VMShutdown, "label harvesterhci.io/maintain-mode-strategy is Shutdown",
		labelled(infrav1.HarvesterMaintainModeLabel, "Shutdown")),
	Entry("labelled by Harvester: ShutdownAndRestartAfterEnable", blocks, infrav1.VMShutdownAndRestore,
		"label harvesterhci.io/maintain-mode-strategy is ShutdownAndRestartAfterEnable",
		labelled(infrav1.HarvesterMaintainModeLabel, "ShutdownAndRestartAfterEnable")),
	Entry("labelled by Harvester: ShutdownAndRestartAfterDisable", blocks, infrav1.VMShutdownAndRestore,
		"label harvesterhci.io/maintain-mode-strategy is ShutdownAndRestartAfterDisable",
		labelled(infrav1.HarvesterMaintainModeLabel, "ShutdownAndRestartAfterDisable")),
	Entry("labelled by Harvester: Migrate, which nobody asked for", stops, infrav1.VMShutdown, isLocal,
		labelled(infrav1.HarvesterMaintainModeLabel, "Migrate"), notMigratable),
	Entry("labelled by both", blocks, infrav1.VMMigrate, isMigratable, vm(func(v *kubevirtv1.VirtualMachine) {
		v.Labels = map[string]string{infrav1.HarvesterMaintainModeLabel: "Shutdown", infrav1.VMPolicyLabel: "Migrate"}
	})),

	// Of which nothing is left to do.
	Entry("Succeeded", blocks, infrav1.VMIgnore, "has ended: it is Succeeded",
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.Phase = kubevirtv1.Succeeded })),
	Entry("Failed", stops, infrav1.VMIgnore, "has ended: it is Failed",
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.Phase = kubevirtv1.Failed }), notMigratable),
	Entry("being deleted", blocks, infrav1.VMIgnore, "is being deleted", notMigratable,
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.DeletionTimestamp = new(metav1.NewTime(began)) })),
	Entry("being stopped by a person", stopsAndRestores, infrav1.VMIgnore, "is being stopped: its VirtualMachine is halted", notMigratable,
		vm(func(v *kubevirtv1.VirtualMachine) { v.Spec.RunStrategy = new(kubevirtv1.RunStrategyHalted) })),
	Entry("being stopped by a person, by running", stopsAndRestores, infrav1.VMIgnore, "is being stopped: its VirtualMachine is halted", notMigratable,
		vm(func(v *kubevirtv1.VirtualMachine) { v.Spec.RunStrategy, v.Spec.Running = nil, new(false) })),

	// On their way.
	Entry("evicted", blocks, infrav1.VMMigrate, isMigratable, evicted),
	Entry("evicted, migrating", blocks, infrav1.VMMigrate, isMigratable, evicted, migration(0, kubevirtv1.MigrationRunning)),
	Entry("evicted, and its target is in use by now", blocks, infrav1.VMMigrate, isMigratable, evicted, noTarget, migration(0, kubevirtv1.MigrationRunning)),
	Entry("evicted, and its target vanished", stops, infrav1.VMBlock, "its migration waits for a node: "+isCordoned, evicted, noTarget),
	Entry("evicted, and the target of its migration vanished", stops, infrav1.VMBlock, "its migration waits for a node: "+isCordoned,
		evicted, noTarget, migration(0, kubevirtv1.MigrationScheduling)),
	Entry("evicted, and not migratable any more", stops, infrav1.VMBlock, "was to be migrated and cannot be any more: "+isLocal, evicted, notMigratable),
	Entry("migrated by a person", blocks, infrav1.VMMigrate, isMigratable, migration(-time.Hour, kubevirtv1.MigrationRunning)),
	Entry("blocked by a quota", stops, infrav1.VMBlock, "its migration waits: migrationRejectedByResourceQuota: wait",
		evicted, migration(0, kubevirtv1.MigrationPending, blockedBy("migrationRejectedByResourceQuota"))),
	Entry("blocked by a backup", stops, infrav1.VMBlock, "its migration waits: migrationBlockedByBackup: wait",
		evicted, migration(0, kubevirtv1.MigrationPending, blockedBy("migrationBlockedByBackup"))),
	Entry("blocked by a utility volume", stops, infrav1.VMBlock, "its migration waits: migrationBlockedByUtilityVolumes: wait",
		evicted, migration(0, kubevirtv1.MigrationPending, blockedBy("migrationBlockedByUtilityVolumes"))),

	// Failing.
	Entry("failed twice", stops, infrav1.VMMigrate, isMigratable, evicted, failed(2)),
	Entry("failed three times", stops, infrav1.VMBlock, failedThrice, evicted, failed(3)),
	Entry("failed three times, and tried once more", stopsAndRestores, infrav1.VMBlock, failedThrice,
		evicted, failed(3), migration(time.Hour, kubevirtv1.MigrationPending)),
	Entry("failed three times before", blocks, infrav1.VMMigrate, isMigratable, failed(3), func(s *kubevirt.Snapshot) {
		for i := range s.Migrations {
			s.Migrations[i].CreationTimestamp = metav1.NewTime(began.Add(-time.Hour))
		}
	}),
	Entry("failed three times, and then a person said what to do", blocks, infrav1.VMShutdown,
		"label infrastructure.cluster.x-k8s.io/elemental-vm-policy is Shutdown", evicted, failed(3), labelled(infrav1.VMPolicyLabel, "Shutdown")),
	Entry("failed three times, and came through since", blocks, infrav1.VMMigrate, isMigratable,
		failed(3), migration(time.Hour, kubevirtv1.MigrationSucceeded)),

	// No node for it.
	Entry("no room anywhere, by policy", stops, infrav1.VMShutdown, "no other node can take it: node-2 (not enough memory)", full),
	Entry("alone, by policy", stopsAndRestores, infrav1.VMShutdownAndRestore, "there is no other node",
		func(s *kubevirt.Snapshot) { s.Nodes = s.Nodes[:1] }),
	Entry("alone", blocks, infrav1.VMBlock, "there is no other node", func(s *kubevirt.Snapshot) { s.Nodes = s.Nodes[:1] }),
)

// noDevices is what a kubelet says of them until they have registered again.
var noDevices = target(func(n *corev1.Node) { n.Status.Allocatable["devices.kubevirt.io/kvm"] = resource.MustParse("0") })

var _ = DescribeTable("Whether the policy counts where no node can take a virtual machine",
	func(decision infrav1.VMDecision, changes ...change) {
		decisions := decide(infrav1.VMPolicyShutdownAndRestore, snapshot(changes...))
		Expect(decisions[0].Decision).To(Equal(decision), decisions[0].Reason)
		Expect(decisions[0].Reason).To(HavePrefix("no other node can take it: "))
	},
	// It passes, and is waited for.
	Entry("not Ready", infrav1.VMBlock, notReady),
	Entry("not Ready, and still full", infrav1.VMBlock, notReady, full),
	Entry("not Ready, and without its devices", infrav1.VMBlock, notReady, noDevices),
	Entry("cordoned by a person", infrav1.VMBlock, noTarget),
	Entry("cordoned by another upgrade", infrav1.VMBlock, upgrading),
	Entry("cordoned by another upgrade, and still full", infrav1.VMBlock, upgrading, full),
	Entry("virt-handler is away", infrav1.VMBlock, target(func(n *corev1.Node) { n.Labels[kubevirt.SchedulableLabel] = "false" })),
	Entry("virt-handler is away, and its devices", infrav1.VMBlock, noDevices, target(func(n *corev1.Node) { n.Labels[kubevirt.SchedulableLabel] = "false" })),
	Entry("its devices are not back after a reboot", infrav1.VMBlock, noDevices, upgrading),
	Entry("a taint of its condition", infrav1.VMBlock, tainted(corev1.TaintNodeDiskPressure)),
	Entry("a taint of its evacuation", infrav1.VMBlock, tainted(kubevirt.DrainTaint)),
	Entry("a taint of its evacuation, by another name", infrav1.VMBlock, tainted("drain"), func(s *kubevirt.Snapshot) {
		s.KubeVirt.Spec.Configuration.MigrationConfiguration = &kubevirtv1.MigrationConfiguration{NodeDrainTaintKey: new("drain")}
	}),
	Entry("full of what is leaving", infrav1.VMBlock, full, func(s *kubevirt.Snapshot) {
		s.Pods[len(s.Pods)-1].DeletionTimestamp = new(metav1.NewTime(began))
	}),
	Entry("one of two is lasting", infrav1.VMBlock, full, func(s *kubevirt.Snapshot) {
		s.Nodes = append(s.Nodes, *node("node-3"))
		s.Nodes[2].Status.Conditions[0].Status = corev1.ConditionUnknown
	}),

	// It lasts.
	Entry("without devices", infrav1.VMShutdownAndRestore, noDevices),
	Entry("full", infrav1.VMShutdownAndRestore, full),
	Entry("too small", infrav1.VMShutdownAndRestore, target(func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("500Mi") })),
	Entry("too small, and cordoned by another upgrade", infrav1.VMShutdownAndRestore, upgrading,
		target(func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("500Mi") })),
	Entry("a taint of a person's", infrav1.VMShutdownAndRestore, tainted("gpu")),
	Entry("a taint of a person's, and not Ready", infrav1.VMShutdownAndRestore, tainted("gpu"), notReady),
	Entry("never served by virt-handler", infrav1.VMShutdownAndRestore, target(func(n *corev1.Node) { delete(n.Labels, kubevirt.SchedulableLabel) })),
	Entry("another architecture", infrav1.VMShutdownAndRestore, target(func(n *corev1.Node) { n.Labels[corev1.LabelArchStable] = "arm64" })),
	Entry("a selector", infrav1.VMShutdownAndRestore, pinned),
	Entry("a selector, and cordoned by another upgrade", infrav1.VMShutdownAndRestore, pinned, upgrading),
	Entry("an affinity, and not Ready", infrav1.VMShutdownAndRestore, notReady, affinity(corev1.NodeSelectorRequirement{
		Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"},
	})),
)

func notReady(s *kubevirt.Snapshot) { s.Nodes[1].Status.Conditions[0].Status = corev1.ConditionUnknown }

func upgrading(s *kubevirt.Snapshot) {
	noTarget(s)
	s.Nodes[1].Annotations = map[string]string{infrav1.CordonedByAnnotation: "upgrade/1"}
}

func full(s *kubevirt.Snapshot) { s.Pods = append(s.Pods, pod("web", "node-2", "4Gi")) }

func tainted(key string) change {
	return target(func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
	})
}

func pinned(s *kubevirt.Snapshot) {
	s.Instances[0].Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-1"}
}

var _ = Describe("The decisions on a node", func() {
	It("share the room that there is, the largest first", func() {
		s := snapshot(func(s *kubevirt.Snapshot) { addVM(s, "b", "2Gi"); addVM(s, "c", "1500Mi") })
		decisions := []string{}
		for _, decision := range decide(infrav1.VMPolicyShutdownAndRestore, s) {
			decisions = append(decisions, decision.Name+" "+string(decision.Decision))
		}
		Expect(decisions).To(Equal([]string{"a ShutdownAndRestore", "b Migrate", "c Migrate"}))
	})

	It("count a migration's room once", func() {
		s := snapshot(evicted, migration(0, kubevirtv1.MigrationScheduling), func(s *kubevirt.Snapshot) {
			addVM(s, "b", "2Gi")
			s.Pods = append(s.Pods, pod("virt-launcher-new", "node-2", "1500Mi", func(p *corev1.Pod) {
				p.Labels = map[string]string{kubevirtv1.AppLabel: "virt-launcher", kubevirtv1.MigrationJobLabel: "0"}
			}))
		})
		Expect(decide(infrav1.VMPolicyBlock, s)).To(HaveEach(HaveField("Decision", infrav1.VMMigrate)))
	})

	It("are on the virtual machines of the node, and no others", func() {
		s := snapshot(vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.NodeName = "node-2" }))
		Expect(decide(infrav1.VMPolicyBlock, s)).To(BeEmpty())
	})

	It("are the same each time", func() {
		s := snapshot(func(s *kubevirt.Snapshot) {
			for _, name := range strings.Split("q,w,e,r,t,z,u,i,o", ",") {
				addVM(s, name, "1Gi")
			}
		})
		first := decide(infrav1.VMPolicyShutdown, s)
		for range 10 {
			Expect(decide(infrav1.VMPolicyShutdown, s)).To(Equal(first))
		}
	})

	It("have a reason that fits where it is reported", func() {
		s := snapshot(notMigratable)
		s.Instances[0].Status.Conditions[0].Message = strings.Repeat("x", 1000)
		Expect(decide(infrav1.VMPolicyBlock, s)[0].Status().Reason).To(HaveLen(512))
	})
})
