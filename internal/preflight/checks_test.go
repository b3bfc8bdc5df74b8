// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("a preflight check", func(run checkFunc, verdict infrav1.PreflightVerdict, object, message string, changes ...func(*Snapshot, *Subject)) {
	found := run(typical(changes...))
	if verdict == infrav1.PreflightPass {
		Expect(found).To(BeEmpty())
		return
	}
	Expect(found).To(HaveLen(1))
	Expect(found[0].Verdict).To(Equal(verdict))
	Expect(found[0].Object).To(Equal(object))
	Expect(found[0].Message).To(HavePrefix(message))
	Expect(found[0].Message).NotTo(BeEmpty())
},
	Entry("the host is approved", checkApproved, infrav1.PreflightPass, "", ""),
	Entry("the host is not approved any more", checkApproved, infrav1.PreflightBlock, "ElementalHost/h", "is not approved, and its agent upgrades nothing",
		func(_ *Snapshot, subject *Subject) { subject.Host.Spec.Approved = false }),
	Entry("nothing is paused", checkPaused, infrav1.PreflightPass, "", ""),
	Entry("the Machine is paused", checkPaused, infrav1.PreflightBlock, "Machine/m", "is paused", func(s *Snapshot, subject *Subject) {
		subject.Machine.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	}),
	Entry("the ElementalMachine is paused", checkPaused, infrav1.PreflightBlock, "ElementalMachine/em", "is paused", func(s *Snapshot, subject *Subject) {
		subject.Elemental = &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Name: "em", Annotations: map[string]string{clusterv1.PausedAnnotation: ""}}}
	}),
	Entry("the host is paused", checkPaused, infrav1.PreflightBlock, "ElementalHost/h", "is paused", func(s *Snapshot, subject *Subject) {
		subject.Host.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	}),

	Entry("no digest is known", checkQuarantine, infrav1.PreflightPass, "", "", quarantined("sha256:new")),
	Entry("another digest is quarantined", checkQuarantine, infrav1.PreflightPass, "", "", digest, quarantined("sha256:old")),
	Entry("the digest is quarantined", checkQuarantine, infrav1.PreflightBlock, "Image/sha256:new",
		"is quarantined because it failed on ElementalHost x: patch the template", digest, quarantined("sha256:new")),
	Entry("there is no ElementalCluster", checkQuarantine, infrav1.PreflightPass, "", "", digest, func(s *Snapshot, subject *Subject) { s.ElementalCluster = nil }),
	Entry("another cluster has another digest in quarantine", checkQuarantine, infrav1.PreflightPass, "", "", digest, quarantinedElsewhere("sha256:old")),
	Entry("another cluster has the digest in quarantine", checkQuarantine, infrav1.PreflightBlock, "Image/sha256:new",
		"is quarantined by ElementalCluster far because it failed on ElementalHost y at 2026-02-01T12:00:00Z (no etcd): patch the template "+
			"to a good image, remove the digest from spec.quarantine of ElementalCluster far, or add Quarantine to spec.skipPreflight to try it here",
		digest, quarantinedElsewhere("sha256:new")),
	Entry("another cluster has it by a user", checkQuarantine, infrav1.PreflightBlock, "Image/sha256:new",
		"is quarantined by ElementalCluster far: patch", digest, quarantinedElsewhere("sha256:new"), func(_ *Snapshot, subject *Subject) {
			subject.Quarantining[0].Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: "sha256:new"}}
		}),
	Entry("another cluster has it too", checkQuarantine, infrav1.PreflightBlock, "Image/sha256:new",
		"is quarantined because it failed on ElementalHost x: patch", digest, quarantined("sha256:new"), quarantinedElsewhere("sha256:new")),
	Entry("there is no ElementalCluster, and another cluster has it", checkQuarantine, infrav1.PreflightBlock, "Image/sha256:new",
		"is quarantined by ElementalCluster far", digest, quarantinedElsewhere("sha256:new"), func(s *Snapshot, subject *Subject) { s.ElementalCluster = nil }),

	Entry("no other attempt", checkOtherAttempt, infrav1.PreflightPass, "", ""),
	Entry("another attempt", checkOtherAttempt, infrav1.PreflightBlock, "ElementalHostUpgrade/r", "is an unfinished attempt on the same host",
		func(s *Snapshot, subject *Subject) {
			subject.Rival = &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
		}),

	Entry("Ready", checkNodeReady, infrav1.PreflightPass, "", ""),
	Entry("not Ready", checkNodeReady, infrav1.PreflightBlock, "Node/n", "is not Ready", notReady),
	Entry("not Ready with an image that another is to replace", checkNodeReady, infrav1.PreflightWarn, "Node/n", "is not Ready with the OS that is replaced", notReady,
		func(_ *Snapshot, subject *Subject) { subject.FixesForward = true }),

	Entry("nothing is unhealthy on the node", checkNodeHealth, infrav1.PreflightPass, "", "", func(s *Snapshot, _ *Subject) {
		s.Unhealthy = map[string][]infrav1.UnhealthyObject{"external": {{Kind: infrav1.UnhealthyVolume, Name: "pv"}}}
	}),
	Entry("something is", checkNodeHealth, infrav1.PreflightWarn, "Node/n",
		"DaemonSet kube-system/cni is not Ready, PersistentVolume pv is not attached, for 5m0s or longer: the upgrade does not wait for that", unhealthy(0)),
	Entry("more is than fits", checkNodeHealth, infrav1.PreflightWarn, "Node/n",
		"DaemonSet kube-system/cni is not Ready, PersistentVolume pv is not attached, PersistentVolume pv-0 is not attached, "+
			"PersistentVolume pv-1 is not attached, PersistentVolume pv-2 is not attached and 7 more, for 5m0s or longer: ", unhealthy(10)),

	Entry("schedulable", checkNodeSchedulable, infrav1.PreflightPass, "", ""),
	Entry("cordoned by a person", checkNodeSchedulable, infrav1.PreflightBlock, "Node/n", "was cordoned by someone else", cordoned),
	Entry("cordoned by this attempt", checkNodeSchedulable, infrav1.PreflightPass, "", "", cordoned, markedBy("u/12345678")),
	Entry("cordoned by another attempt", checkNodeSchedulable, infrav1.PreflightBlock, "Node/n", "was cordoned", cordoned, markedBy("u/other")),
	Entry("cordoned by an attempt, when another upgrade is requested", checkNodeSchedulable, infrav1.PreflightPass, "", "", cordoned, markedBy("u/other"), requested),
	Entry("cordoned by a person, when an upgrade is requested", checkNodeSchedulable, infrav1.PreflightBlock, "Node/n", "was cordoned", cordoned, requested),
	Entry("cordoned by Rancher, which drains it", checkNodeSchedulable, infrav1.PreflightPass, "", "", cordoned, drained),
	Entry("cordoned by a person before Rancher, which drains it", checkNodeSchedulable, infrav1.PreflightPass, "", "", cordoned, drained, markedBy("u/other")),
	Entry("cordoned by Rancher, when an upgrade is requested", checkNodeSchedulable, infrav1.PreflightPass, "", "", cordoned, drained, requested),
	Entry("uncordoned by a person", checkNodeSchedulable, infrav1.PreflightPass, "", "", markedBy("u/12345678")),

	Entry("the kubelet that is wanted", checkKubeletVersion, infrav1.PreflightPass, "", ""),
	Entry("any kubelet", checkKubeletVersion, infrav1.PreflightPass, "", "", func(_ *Snapshot, subject *Subject) { subject.Machine.Spec.Version = "" }),
	Entry("a kubelet that the image has to replace", checkKubeletVersion, infrav1.PreflightWarn, "Node/n",
		"runs kubelet v1.35.0 and Machine m wants v1.36.3", oldKubelet),
)

// unhealthy is a DaemonSet, a volume, and so many volumes more on the node.
func unhealthy(more int) change {
	return func(s *Snapshot, subject *Subject) {
		found := []infrav1.UnhealthyObject{
			{Kind: infrav1.UnhealthyDaemonSet, Namespace: "kube-system", Name: "cni"}, {Kind: infrav1.UnhealthyVolume, Name: "pv"},
		}
		for i := range more {
			found = append(found, infrav1.UnhealthyObject{Kind: infrav1.UnhealthyVolume, Name: fmt.Sprintf("pv-%d", i)})
		}
		s.Unhealthy = map[string][]infrav1.UnhealthyObject{subject.Node.Name: found}
	}
}

type checkFunc = func(*Snapshot, *Subject) []infrav1.PreflightResult

// typical is a healthy worker that is to be upgraded by an attempt, in a cluster of that one Machine and a Node of another.
func typical(changes ...func(*Snapshot, *Subject)) (*Snapshot, *Subject) {
	machine := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: clusterv1.MachineSpec{Version: "v1.36.3"}}
	machine.Status.NodeRef.Name = "n"
	s := &Snapshot{
		Now:              time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Cluster:          &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
		ElementalCluster: &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Name: "ec"}},
		Machines:         []clusterv1.Machine{machine},
		Nodes:            []corev1.Node{*newNode("n"), *newNode("external")},
	}
	subject := &Subject{
		Machine: &s.Machines[0], Node: &s.Nodes[0], Host: newHost("h"),
		Attempt: "u/12345678",
	}
	for _, change := range changes {
		change(s, subject)
	}
	return s, subject
}

// newHost is approved.
func newHost(name string) *infrav1.ElementalHost {
	return &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: infrav1.ElementalHostSpec{Approved: true}}
}

// newNode is Ready.
func newNode(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.NodeInfo.KubeletVersion = "v1.36.3"
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return node
}

func digest(_ *Snapshot, subject *Subject)    { subject.Digest = "sha256:new" }
func notReady(_ *Snapshot, subject *Subject)  { subject.Node.Status.Conditions = nil }
func cordoned(_ *Snapshot, subject *Subject)  { subject.Node.Spec.Unschedulable = true }
func drained(_ *Snapshot, subject *Subject)   { subject.Drained = true }
func requested(_ *Snapshot, subject *Subject) { subject.Attempt = "" }
func oldKubelet(_ *Snapshot, subject *Subject) {
	subject.Node.Status.NodeInfo.KubeletVersion = "v1.35.0"
}

// quarantined puts an image into the quarantine, which host x rolled back from.
func quarantined(digest string) func(*Snapshot, *Subject) {
	return func(s *Snapshot, _ *Subject) {
		s.ElementalCluster.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: digest, Host: "x"}}
	}
}

// quarantinedElsewhere puts an image into the quarantine of another cluster, which host y rolled back from.
func quarantinedElsewhere(digest string) func(*Snapshot, *Subject) {
	return func(_ *Snapshot, subject *Subject) {
		far := infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Name: "far"}}
		far.Spec.Quarantine = []infrav1.QuarantinedImage{{
			Digest: digest, Host: "y", Reason: "no etcd", Since: metav1.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC),
		}}
		subject.Quarantining = append(subject.Quarantining, far)
	}
}

func markedBy(attempt string) func(*Snapshot, *Subject) {
	return func(_ *Snapshot, subject *Subject) {
		subject.Node.Annotations = map[string]string{infrav1.CordonedByAnnotation: attempt}
	}
}
