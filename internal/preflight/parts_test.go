// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("unhealthyOthers", func(change func(machines []clusterv1.Machine, nodes []corev1.Node), expected ...string) {
	machines, nodes := []clusterv1.Machine{}, []corev1.Node{}
	for _, name := range []string{"a", "b", "c"} {
		machine := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		machine.Status.NodeRef.Name = "node-" + name
		machine.Status.Conditions = []metav1.Condition{{Type: "APIServerPodHealthy", Status: metav1.ConditionTrue}}
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		machines, nodes = append(machines, machine), append(nodes, node)
	}
	change(machines, nodes)
	s := &Snapshot{Nodes: nodes}
	Expect(s.unhealthyOthers([]*clusterv1.Machine{&machines[0], &machines[1], &machines[2]}, &Subject{Machine: &machines[0], Attempt: "u/1"})).To(HaveExactElements(expected))
},
	Entry("none", func([]clusterv1.Machine, []corev1.Node) {}),
	Entry("never itself", func(machines []clusterv1.Machine, nodes []corev1.Node) {
		machines[0].Status.Conditions[0].Status = metav1.ConditionFalse
		nodes[0].Status.Conditions = nil
	}),
	Entry("a Node that is not Ready, and a Machine that KubeadmControlPlane finds unhealthy",
		func(machines []clusterv1.Machine, nodes []corev1.Node) {
			machines[1].Status.Conditions[0].Status = metav1.ConditionUnknown
			nodes[2].Status.Conditions[0].Status = corev1.ConditionFalse
		}, "Machine b is not APIServerPodHealthy", "the Node of Machine c is not Ready"),
	Entry("a Machine without a Node", func(machines []clusterv1.Machine, _ []corev1.Node) {
		machines[1].Status.NodeRef.Name = ""
	}, "the Node of Machine b is not Ready"),
)

var _ = DescribeTable("unhealthyConditions of a requested upgrade", func(status metav1.ConditionStatus, expected ...string) {
	machine := &clusterv1.Machine{Status: clusterv1.MachineStatus{Conditions: []metav1.Condition{{Type: "EtcdMemberHealthy", Status: status}}}}
	Expect(unhealthyConditions(machine, true)).To(HaveExactElements(expected))
},
	Entry("healthy", metav1.ConditionTrue),
	Entry("not known at the moment", metav1.ConditionUnknown),
	Entry("unhealthy", metav1.ConditionFalse, "EtcdMemberHealthy"),
)

var _ = DescribeTable("AnnotatedWaivers", func(annotation string, expected ...infrav1.PreflightCheck) {
	machine := &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.SkipPreflightAnnotation: annotation}}}
	Expect(AnnotatedWaivers(machine)).To(HaveExactElements(expected))
},
	Entry("none", ""),
	Entry("one", "NodeReady", infrav1.PreflightCheck("NodeReady")),
	Entry("several, with blanks", "NodeReady, Machines", infrav1.PreflightCheck("NodeReady"), infrav1.PreflightCheck("Machines")),
)

var _ = It("WaiversOf collects those of all kinds that can have them", func() {
	upgrade, template, cluster := &infrav1.ElementalHostUpgrade{}, &infrav1.ElementalMachineTemplate{}, &infrav1.ElementalCluster{}
	upgrade.Spec.SkipPreflight = []infrav1.PreflightCheck{"NodeReady"}
	template.Spec.SkipPreflight = []infrav1.PreflightCheck{"Backups"}
	cluster.Spec.SkipPreflight = []infrav1.PreflightCheck{"Machines"}
	machine := &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.SkipPreflightAnnotation: "Volumes"}}}
	Expect(WaiversOf(upgrade, template, cluster, machine)).To(HaveExactElements(
		infrav1.PreflightCheck("NodeReady"), infrav1.PreflightCheck("Backups"), infrav1.PreflightCheck("Machines"), infrav1.PreflightCheck("Volumes")))
})

var _ = DescribeTable("isNodeOfAny", func(nodeRef, machineID, nodeID string, expected bool) {
	machine := clusterv1.Machine{Spec: clusterv1.MachineSpec{ProviderID: machineID}}
	machine.Status.NodeRef.Name = nodeRef
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: nodeID}}
	Expect(isNodeOfAny(node, []clusterv1.Machine{{}, machine})).To(Equal(expected))
},
	Entry("the Machine's Node", "n", "", "", true),
	Entry("one that has just joined", "", "elemental://ns/n", "elemental://ns/n", true),
	Entry("another's", "m", "elemental://ns/m", "elemental://ns/n", false),
	Entry("one that has no provider ID yet", "m", "elemental://ns/m", "", false),
)

var _ = DescribeTable("HeldByQuarantine", func(expected bool, results ...infrav1.PreflightResult) {
	Expect(HeldByQuarantine(results)).To(Equal(expected))
},
	Entry("nothing blocks", false),
	Entry("the quarantine warns", false, result(quarantineCheck, warns, "x")),
	Entry("something else blocks", false, result("NodeReady", blocks, "x")),
	Entry("the quarantine blocks, among others", true, result("NodeReady", blocks, "x"), result(quarantineCheck, blocks, "y")),
)

var _ = DescribeTable("BlockedBy", func(expected string, results ...infrav1.PreflightResult) {
	Expect(BlockedBy(results)).To(Equal(expected))
},
	Entry("nothing", ""),
	Entry("what blocks, and not what warns", "A and C", result("A", blocks, "x"), result("B", warns, "x"), result("C", blocks, "x")),
)

var _ = DescribeTable("SubjectOf", func(found bool, node, host string) {
	machine := &clusterv1.Machine{}
	machine.Status.NodeRef.Name, machine.Spec.InfrastructureRef.Name = node, host
	s, subject := typical()
	withHost("x")(s, subject)
	subject = s.SubjectOf(machine)
	Expect(subject != nil).To(Equal(found))
	if found {
		Expect(subject.Node.Name).To(Equal("n"))
		Expect(subject.Host.Name).To(Equal("x"))
	}
},
	Entry("a Node and a host", true, "n", "em-x"),
	Entry("no Node", false, "other", "em-x"),
	Entry("no host", false, "n", "em-other"),
)

var _ = DescribeTable("QuarantineMessage", func(image infrav1.QuarantinedImage, expected string) {
	cluster := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	Expect(QuarantineMessage(cluster, &image)).To(Equal(expected +
		": patch the template to a good image, or remove the digest from spec.quarantine of ElementalCluster c to try it again"))
},
	Entry("of a host", infrav1.QuarantinedImage{Host: "h"}, "is quarantined because it failed on ElementalHost h"),
	Entry("with the reason that it gave", infrav1.QuarantinedImage{Host: "h", Reason: "kubelet"},
		"is quarantined because it failed on ElementalHost h (kubelet)"),
	Entry("by a user", infrav1.QuarantinedImage{Digest: "sha256:1"}, "is quarantined"),
)
