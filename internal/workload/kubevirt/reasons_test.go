// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// stoppedFor is what a shutdown for a node leaves on a VirtualMachine.
func stoppedFor(node string, strategy kubevirtv1.VirtualMachineRunStrategy) change {
	return vm(func(v *kubevirtv1.VirtualMachine) {
		v.Spec.RunStrategy = &strategy
		v.Annotations = map[string]string{infrav1.VMPowerStateAnnotation: `{"attempt":"` + attempt + `","node":"` + node +
			`","field":"runStrategy","value":"Always","policy":"ShutdownAndRestore","reason":"was local"}`}
	})
}

func condition(reason, message string) change {
	return func(s *kubevirt.Snapshot) {
		notMigratable(s)
		s.Instances[0].Status.Conditions[0].Reason, s.Instances[0].Status.Conditions[0].Message = reason, message
	}
}

var _ = DescribeTable("What becomes of a virtual machine, and how that is told from what looks like it",
	func(decision infrav1.VMDecision, reason string, changes ...change) {
		decisions := decide(stops, snapshot(changes...))
		Expect(decisions).To(HaveLen(1))
		Expect(decisions[0].Status()).To(Equal(infrav1.VirtualMachineStatus{Namespace: namespace, Name: "a", Decision: decision, Reason: reason}))
	},
	// The record of a shutdown.
	Entry("stopped for this node", infrav1.VMShutdownAndRestore, "was local", stoppedFor("node-1", kubevirtv1.RunStrategyHalted)),
	Entry("stopped for another node", infrav1.VMIgnore, "is being stopped: its VirtualMachine is halted",
		stoppedFor("node-2", kubevirtv1.RunStrategyHalted)),
	Entry("stopped for this node, and started by a person since", infrav1.VMMigrate, isMigratable,
		stoppedFor("node-1", kubevirtv1.RunStrategyAlways)),
	Entry("stopped, with a record that cannot be read", infrav1.VMIgnore, "is being stopped: its VirtualMachine is halted",
		vm(func(v *kubevirtv1.VirtualMachine) {
			v.Spec.RunStrategy = new(kubevirtv1.RunStrategyHalted)
			v.Annotations = map[string]string{infrav1.VMPowerStateAnnotation: "on node-1"}
		})),
	Entry("of a VirtualMachine that says nothing of running", infrav1.VMIgnore, "is being stopped: its VirtualMachine is halted",
		vm(func(v *kubevirtv1.VirtualMachine) { v.Spec.RunStrategy = nil })),
	Entry("of a replica set with the name of a halted VirtualMachine", infrav1.VMMigrate, isMigratable,
		stoppedFor("node-1", kubevirtv1.RunStrategyHalted),
		vmi(func(v *kubevirtv1.VirtualMachineInstance) {
			v.OwnerReferences[0].Kind = "VirtualMachineInstanceReplicaSet"
		})),

	// What KubeVirt says.
	Entry("no strategy, and no KubeVirt", infrav1.VMMigrate, "is live-migratable, evictionStrategy None", func(s *kubevirt.Snapshot) {
		s.KubeVirt, s.Instances[0].Spec.EvictionStrategy = nil, nil
	}),
	Entry("not migratable, without a message", infrav1.VMShutdown, "is not live-migratable: DisksNotLiveMigratable", condition("DisksNotLiveMigratable", "")),
	Entry("not migratable, without a reason", infrav1.VMShutdown, "is not live-migratable: disk x is local", condition("", "disk x is local")),
	Entry("not migratable, without either", infrav1.VMShutdown, "is not live-migratable: no reason given", condition("", "")),
	Entry("not migratable, after other conditions", infrav1.VMShutdown, isLocal, notMigratable, vmi(func(v *kubevirtv1.VirtualMachineInstance) {
		v.Status.Conditions = append([]kubevirtv1.VirtualMachineInstanceCondition{
			{Type: kubevirtv1.VirtualMachineInstanceReady, Status: corev1.ConditionFalse, Reason: "GuestNotRunning"},
		}, v.Status.Conditions...)
	})),
	Entry("of which KubeVirt says only whether it is ready", infrav1.VMBlock, "is not live-migratable: KubeVirt has not said that it is",
		vmi(func(v *kubevirtv1.VirtualMachineInstance) {
			v.Status.Conditions = []kubevirtv1.VirtualMachineInstanceCondition{{Type: kubevirtv1.VirtualMachineInstanceReady, Status: corev1.ConditionFalse}}
		})),
	Entry("evicted, External, whether or not KubeVirt could", infrav1.VMMigrate, external, evicted, notMigratable, noTarget,
		strategy(kubevirtv1.EvictionStrategyExternal)),
	Entry("evicted from another node before", infrav1.VMShutdown, isLocal, notMigratable,
		vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.EvacuationNodeName = "node-2" })),

	// Migrations.
	Entry("blocked by a quota that does not block any more", infrav1.VMMigrate, isMigratable, evicted,
		migration(0, kubevirtv1.MigrationPending, blockedBy("migrationRejectedByResourceQuota"), func(m *kubevirtv1.VirtualMachineInstanceMigration) {
			m.Status.Conditions[0].Status = corev1.ConditionFalse
		})),
	Entry("a condition of its migration that blocks nothing", infrav1.VMMigrate, isMigratable, evicted,
		migration(0, kubevirtv1.MigrationPending, blockedBy("migrationAbortRequested"))),
	Entry("a Pod of its migration that no node has taken", infrav1.VMBlock, "its migration waits for a node: "+isCordoned, evicted, noTarget,
		migration(0, kubevirtv1.MigrationScheduling), targetPod("")),
	Entry("a Pod of its migration that a node has taken", infrav1.VMMigrate, isMigratable, evicted, noTarget,
		migration(0, kubevirtv1.MigrationScheduling), targetPod("node-2")),
	Entry("failed three times, for no reason known", infrav1.VMBlock, strings.Replace(failedThrice, " (guest too busy)", "", 1), failed(3),
		func(s *kubevirt.Snapshot) { s.Migrations[2].Status.MigrationState = nil }),
	Entry("failed three times, for an empty reason", infrav1.VMBlock, strings.Replace(failedThrice, " (guest too busy)", "", 1), failed(3),
		func(s *kubevirt.Snapshot) { s.Migrations[2].Status.MigrationState.FailureReason = "" }),
)

// targetPod is of the migration "0".
func targetPod(node string) change {
	return func(s *kubevirt.Snapshot) {
		s.Pods = append(s.Pods, pod("virt-launcher-new", node, "1Gi", func(p *corev1.Pod) {
			p.Labels = map[string]string{kubevirtv1.AppLabel: "virt-launcher", kubevirtv1.MigrationJobLabel: "0"}
		}))
	}
}

var _ = DescribeTable("Which failed migrations count", func(since time.Time, decision infrav1.VMDecision) {
	decisions := kubevirt.Decide(snapshot(failed(3)), kubevirt.Question{Node: "node-1", Policy: blocks, Since: since})
	Expect(decisions).To(HaveExactElements(HaveField("Decision", decision)))
},
	Entry("none before it has begun", time.Time{}, infrav1.VMMigrate),
	Entry("those of the second that it began in", began.Add(900*time.Millisecond), infrav1.VMBlock),
	Entry("none of the second before", began.Add(time.Second), infrav1.VMMigrate),
)
