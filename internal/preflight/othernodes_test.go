// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// other is the Node of Machine x, which is of the cluster.
const other = "node-x"

var _ = DescribeTable("a check of the other nodes", func(expected []string, changes ...change) {
	Expect(findings(checkOtherNodes, append([]change{withMachine("x", clusterv1.MachinePhaseRunning)}, changes...)...)).To(HaveExactElements(expected))
},
	Entry("all well", nil, withNode(other, func(*corev1.Node) {})),
	Entry("there is no other", []string{"Warn Node/n: is the only Node of its cluster: it is neither cordoned nor drained, " +
		"and all that runs on it is down until its host has rebooted (for how long is not known yet)"}, alone),
	Entry("there is no other, and it was upgraded before", []string{"Warn Node/n: is the only Node of its cluster: it is neither cordoned nor drained, " +
		"and all that runs on it is down until its host has rebooted (about 3 minutes, as in its last upgrade)"}, alone, tookBefore(170*time.Second)),
	Entry("the node itself is not Ready", nil, notReady),
	Entry("another is not Ready", []string{"Block Node/node-x: is not Ready: the cluster must not lose another node"}, withNode(other, down)),
	Entry("another is not Ready, and its attempt holds a slot", nil, withNode(other, downFor("u2/1")), withSlot("u2/1")),
	Entry("another is not Ready, and another attempt holds a slot", []string{"Block Node/node-x: is not Ready: the cluster must not lose another node"},
		withNode(other, downFor("u2/1")), withSlot("u3/1")),
	Entry("another is not Ready, and there is no ElementalCluster", []string{"Block Node/node-x: is not Ready: the cluster must not lose another node"},
		withNode(other, downFor("u2/1")), func(s *Snapshot, _ *Subject) { s.ElementalCluster = nil }),
	Entry("another is not Ready, and a slot names no attempt", []string{"Block Node/node-x: is not Ready: the cluster must not lose another node"},
		withNode(other, down), withSlot("")),
	Entry("another's host is lost", []string{"Block Node/node-x: is not Ready: the cluster must not lose another node"},
		withNode(other, downFor("u2/1")), withAttempt(infrav1.UpgradeHostLost, false)),
	Entry("another's host is lost and not waited for", nil, withNode(other, downFor("u2/1")), withAttempt(infrav1.UpgradeHostLost, true)),
	Entry("another's attempt has failed and is not waited for", []string{"Block Node/node-x: is not Ready: the cluster must not lose another node"},
		withNode(other, downFor("u2/1")), withAttempt(infrav1.UpgradeFailed, true)),
	Entry("one of no Machine is not Ready", []string{"Warn Node/stranger: is not Ready and belongs to no Machine: delete it if its host is gone"},
		withNode("stranger", down)),
	Entry("one of no Machine is Ready", nil, withNode("stranger", func(*corev1.Node) {})),
	Entry("another was left cordoned", []string{"Warn Node/node-x: was left cordoned by ElementalHostUpgrade u2 and takes no Pods from the node " +
		"that is drained: give its Machine a good image, or kubectl uncordon it"},
		withNode(other, func(node *corev1.Node) {
			downFor("u2/1")(node)
			node.Status.Conditions = newNode(other).Status.Conditions
		})),
	Entry("another is cordoned", []string{"Warn Node/node-x: is cordoned and takes no Pods from the node that is drained"},
		withNode(other, func(node *corev1.Node) { node.Spec.Unschedulable = true })),
)

// alone leaves the subject's Node only.
func alone(s *Snapshot, _ *Subject) { s.Nodes = s.Nodes[:1] }

// tookBefore is how long the last upgrade of the subject's host took.
func tookBefore(took time.Duration) change {
	return func(s *Snapshot, subject *Subject) { s.Outages = map[string]time.Duration{subject.Host.Name: took} }
}

func down(node *corev1.Node) { node.Status.Conditions = nil }

// downFor cordons a node as an attempt does, and takes it down.
func downFor(attempt string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		down(node)
		node.Spec.Unschedulable = true
		node.Annotations = map[string]string{infrav1.CordonedByAnnotation: attempt}
	}
}

func withSlot(attempt string) change {
	return func(s *Snapshot, _ *Subject) {
		s.ElementalCluster.Status.UpgradeSlots = []infrav1.UpgradeSlot{{Attempt: attempt}}
	}
}

// withAttempt adds attempt u2.
func withAttempt(phase infrav1.UpgradePhase, release bool) change {
	return func(s *Snapshot, _ *Subject) {
		s.Attempts = append(s.Attempts, infrav1.ElementalHostUpgrade{
			ObjectMeta: metav1.ObjectMeta{Name: "u2"},
			Spec:       infrav1.ElementalHostUpgradeSpec{Release: release}, Status: infrav1.ElementalHostUpgradeStatus{Phase: phase},
		})
	}
}

var _ = DescribeTable("a check of the quorum", func(machines, unhealthy int, expected []string, changes ...change) {
	changes = append([]change{controlPlaneOf(machines, unhealthy)}, changes...)
	Expect(findings(checkQuorum, changes...)).To(HaveExactElements(expected))
},
	Entry("one of three", 3, 0, nil),
	Entry("the only one", 1, 0, []string{"Block Cluster/c: loses its API while Node n is down (for how long is not known yet): " +
		"etcd has no majority without it. Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster e to permit that"}, ofElementalCluster(false)),
	Entry("the only one, with consent", 1, 0, []string{"Warn Cluster/c: loses its API while Node n is down (for how long is not known yet): " +
		"etcd has no majority without it, which allowQuorumLoss permits"}, ofElementalCluster(true)),
	Entry("one of two, with consent", 2, 0, []string{"Warn Cluster/c: loses its API while Node n is down (about 40 seconds, as in its last upgrade): " +
		"etcd has no majority without it, which allowQuorumLoss permits"}, ofElementalCluster(true), tookBefore(40*time.Second)),
	Entry("one of two, with one that is down, whatever is permitted", 2, 1, []string{"Block Cluster/c: has 2 control plane nodes and etcd needs 2 of them " +
		"while this one is down, but the Node of Machine cp-1 is not Ready: bring them back first"}, ofElementalCluster(true)),
	Entry("the only one, when an upgrade is requested", 1, 0, []string{"Warn Cluster/c: loses its API while Node n is down (for how long is not known yet): " +
		"etcd has no majority without it. Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster e to permit that"}, ofElementalCluster(false), requested),
	Entry("the only one, when an upgrade is requested, with consent", 1, 0, []string{"Warn Cluster/c: loses its API while Node n is down (about 2 minutes, " +
		"as in its last upgrade): etcd has no majority without it, which allowQuorumLoss permits"}, ofElementalCluster(true), requested, tookBefore(2*time.Minute)),
	Entry("a worker, beside only one", 1, 0, nil, func(_ *Snapshot, subject *Subject) {
		subject.Machine = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	}),
	Entry("one of three, with one that is down", 3, 1, []string{"Block Cluster/c: has 3 control plane nodes and etcd needs 2 of them while this one is down, " +
		"but the Node of Machine cp-2 is not Ready: bring them back first"}),
	Entry("one of three, with one that is down, when an upgrade is requested", 3, 1, []string{"Block Cluster/c: has 3 control plane nodes and etcd needs 2 of them " +
		"while this one is down, but the Node of Machine cp-2 is not Ready: bring them back first"}, requested),
	Entry("one of five, with one that is down", 5, 1, nil),
	Entry("one of three, with a member of etcd that has stopped", 3, 0, []string{"Block Cluster/c: has 3 control plane nodes and etcd needs 2 of them " +
		"while this one is down, but etcd on the Node of Machine cp-1 is not Ready: bring them back first"},
		staticPod("etcd", "node-cp-1", corev1.ConditionFalse), staticPod("etcd", "node-cp-2", corev1.ConditionTrue)),
	Entry("one of three, whose etcd runs", 3, 0, nil, staticPod("etcd", "node-cp-1", corev1.ConditionTrue), staticPod("etcd", "node-cp-2", corev1.ConditionTrue)),
	Entry("one of three, with a member of etcd that is gone", 3, 0, []string{"Block Cluster/c: has 3 control plane nodes and etcd needs 2 of them " +
		"while this one is down, but etcd on the Node of Machine cp-2 is not Ready: bring them back first"}, staticPod("etcd", "node-cp-1", corev1.ConditionTrue)),
	Entry("one of three, whose etcd is not in static Pods", 3, 0, nil, staticPod("kube-apiserver", "node-cp-1", corev1.ConditionTrue)),
	Entry("one of three, whose own etcd has stopped", 3, 0, nil,
		staticPod("etcd", "node-cp-0", corev1.ConditionFalse), staticPod("etcd", "node-cp-1", corev1.ConditionTrue), staticPod("etcd", "node-cp-2", corev1.ConditionTrue)),
)

// ofElementalCluster names the ElementalCluster e, with or without consent to the loss of the quorum.
func ofElementalCluster(allowQuorumLoss bool) change {
	return func(s *Snapshot, _ *Subject) {
		s.Cluster.Spec.InfrastructureRef.Name = "e"
		s.ElementalCluster.Spec.NodeUpgradeOption.AllowQuorumLoss = allowQuorumLoss
	}
}

func staticPod(component, node string, ready corev1.ConditionStatus) change {
	return func(s *Snapshot, _ *Subject) {
		s.StaticPods = append(s.StaticPods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: component + "-" + node, Labels: map[string]string{componentLabel: component}},
			Spec:       corev1.PodSpec{NodeName: node},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		})
	}
}

// controlPlaneOf has Machines cp-0, which is the subject's, and so on; the Nodes of the last are down.
func controlPlaneOf(machines, unhealthy int) change {
	return func(s *Snapshot, subject *Subject) {
		s.Machines = nil
		for i := range machines {
			machine := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
				Name: "cp-" + string(rune('0'+i)), Labels: map[string]string{clusterv1.MachineControlPlaneLabel: ""},
			}}
			machine.Status.NodeRef.Name = "node-" + machine.Name
			s.Machines = append(s.Machines, machine)
			if i < machines-unhealthy {
				s.Nodes = append(s.Nodes, *newNode(machine.Status.NodeRef.Name))
			}
		}
		subject.Machine = &s.Machines[0]
	}
}

var _ = It("tells the checks of residents which nodes may be down: those whose attempts hold slots", func() {
	s, _ := typical(withNode("holds", downFor("u2/uid")), withNode("gave-back", downFor("u3/uid")), withNode("by-itself", down), withSlot("u2/uid"))
	Expect(s.upgrading().UnsortedList()).To(ConsistOf("holds"))
})
