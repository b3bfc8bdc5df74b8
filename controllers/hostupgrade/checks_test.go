// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

type checkFunc = func(context.Context, *observation) (infrav1.PreflightResult, error)

var _ = DescribeTable("a preflight check", func(ctx SpecContext, run checkFunc, verdict infrav1.PreflightVerdict, object, message string, changes ...func(*observation)) {
	result, err := run(ctx, typical(changes...))
	Expect(err).NotTo(HaveOccurred())
	Expect(result.Verdict).To(Equal(verdict))
	Expect(result.Object).To(Equal(object))
	Expect(result.Message).To(HavePrefix(message))
	if verdict != infrav1.PreflightPass {
		Expect(result.Message).NotTo(BeEmpty())
	}
},
	Entry("nothing is paused", checkPaused, infrav1.PreflightPass, "", ""),
	Entry("the Machine is paused", checkPaused, infrav1.PreflightBlock, "Machine/m", "is paused", func(o *observation) {
		o.machine.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	}),
	Entry("the host is paused", checkPaused, infrav1.PreflightBlock, "ElementalHost/h", "is paused", func(o *observation) {
		o.host.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	}),

	Entry("no digest is known", checkQuarantine, infrav1.PreflightPass, "", "", quarantined(`{"sha256:new":"x"}`)),
	Entry("another digest is quarantined", checkQuarantine, infrav1.PreflightPass, "", "", runsWanted, quarantined(`{"sha256:old":"x"}`)),
	Entry("the digest is quarantined", checkQuarantine, infrav1.PreflightBlock, "Image/sha256:new",
		"is quarantined because ElementalHost x rolled back from it: patch the template", runsWanted, quarantined(`{"sha256:new":"x"}`)),
	Entry("the quarantine cannot be read", checkQuarantine, infrav1.PreflightBlock, "ElementalCluster/ec",
		"annotation "+infrav1.QuarantineAnnotation+" is not a JSON object", runsWanted, quarantined("sha256:new")),
	Entry("there is no ElementalCluster", checkQuarantine, infrav1.PreflightPass, "", "", runsWanted, func(o *observation) { o.elementalCluster = nil }),

	Entry("no other attempt", checkOtherAttempt, infrav1.PreflightPass, "", ""),
	Entry("another attempt", checkOtherAttempt, infrav1.PreflightBlock, "ElementalHostUpgrade/r", "is an unfinished attempt on the same host",
		func(o *observation) {
			o.rival = &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
		}),

	Entry("Ready", checkNodeReady, infrav1.PreflightPass, "", ""),
	Entry("not Ready", checkNodeReady, infrav1.PreflightBlock, "Node/n", "is not Ready", notReady),

	Entry("schedulable", checkNodeSchedulable, infrav1.PreflightPass, "", ""),
	Entry("cordoned by a person", checkNodeSchedulable, infrav1.PreflightBlock, "Node/n", "was cordoned by someone else", cordoned),
	Entry("cordoned by this attempt", checkNodeSchedulable, infrav1.PreflightPass, "", "", cordoned, markedBy("u/12345678")),
	Entry("cordoned by another attempt", checkNodeSchedulable, infrav1.PreflightBlock, "Node/n", "was cordoned", cordoned, markedBy("u/other")),
	Entry("uncordoned by a person", checkNodeSchedulable, infrav1.PreflightPass, "", "", markedBy("u/12345678")),

	Entry("the kubelet that is wanted", checkKubeletVersion, infrav1.PreflightPass, "", ""),
	Entry("a kubelet that the image has to replace", checkKubeletVersion, infrav1.PreflightWarn, "Node/n",
		"runs kubelet v1.35.0 and Machine m wants v1.36.3", oldKubelet),

	Entry("space unknown", checkFreeSpace, infrav1.PreflightPass, "", ""),
	Entry("space enough", checkFreeSpace, infrav1.PreflightPass, "", "", measured(2<<30, 1<<30)),
	Entry("no space", checkFreeSpace, infrav1.PreflightBlock, "ElementalHost/h",
		"has 512 MiB free on its state partition and the image takes at least 1024 MiB", measured(512<<20, 1<<30)),
)

func quarantined(value string) func(*observation) {
	return func(o *observation) {
		o.elementalCluster.Annotations = map[string]string{infrav1.QuarantineAnnotation: value}
	}
}

func markedBy(attempt string) func(*observation) {
	return func(o *observation) { o.node.Annotations = map[string]string{infrav1.CordonedByAnnotation: attempt} }
}

func measured(free, image int64) func(*observation) {
	return func(o *observation) {
		reported(infrav1.HostUpgradeFetched)(o)
		o.host.Status.Upgrade.FreeBytes, o.host.Status.Upgrade.ImageBytes = free, image
	}
}

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
	Expect(unhealthyOthers(machines, nodes, "a")).To(HaveExactElements(expected))
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

var _ = DescribeTable("waivers", func(annotation string, expected ...string) {
	upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.SkipPreflightAnnotation: annotation}}}
	Expect(waivers(upgrade)).To(HaveExactElements(expected))
},
	Entry("none", ""),
	Entry("one", "NodeReady", "NodeReady"),
	Entry("several, with blanks", "NodeReady, FreeSpace", "NodeReady", "FreeSpace"),
)

var _ = DescribeTable("quarantine", func(value string, expected map[string]string, valid bool) {
	o := typical(quarantined(value))
	digests, err := quarantine(o.elementalCluster)
	Expect(err == nil).To(Equal(valid))
	Expect(digests).To(Equal(expected))
},
	Entry("nothing", "", map[string]string{}, true),
	Entry("one", `{"sha256:a":"h"}`, map[string]string{"sha256:a": "h"}, true),
	Entry("a list", `["sha256:a"]`, nil, false),
	Entry("a word", "sha256:a", nil, false),
)

var _ = DescribeTable("rivalOf", func(expected string, changes ...func(host *infrav1.ElementalHost, others []infrav1.ElementalHostUpgrade)) {
	o := typical()
	others := []infrav1.ElementalHostUpgrade{
		{ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "11111111"}}, {ObjectMeta: metav1.ObjectMeta{Name: "z", UID: "22222222"}},
	}
	for _, change := range changes {
		change(o.host, others)
	}
	found := rivalOf(o.upgrade, others, o.host)
	if expected == "" {
		Expect(found).To(BeNil())
		return
	}
	Expect(found.Name).To(Equal(expected))
},
	Entry("the older", "t"),
	Entry("the older has ended", "", ended("t")),
	Entry("the host is at this one already", "", askedFor("u/12345678")),
	Entry("the host is at the younger", "z", askedFor("z/22222222")),
	Entry("the host has not been told that the younger has ended", "t", askedFor("z/22222222"), ended("z")),
)

func ended(name string) func(*infrav1.ElementalHost, []infrav1.ElementalHostUpgrade) {
	return func(_ *infrav1.ElementalHost, others []infrav1.ElementalHostUpgrade) {
		for i := range others {
			if others[i].Name == name {
				others[i].Status.Phase = infrav1.UpgradeFailed
			}
		}
	}
}

func askedFor(attempt string) func(*infrav1.ElementalHost, []infrav1.ElementalHostUpgrade) {
	return func(host *infrav1.ElementalHost, _ []infrav1.ElementalHostUpgrade) {
		host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: attempt}
	}
}

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
