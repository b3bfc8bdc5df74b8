// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

var _ = DescribeTable("Whether KubeVirt may be upgraded to a version", func(observed, wanted, expected string) {
	k := &kubevirtv1.KubeVirt{ObjectMeta: metav1.ObjectMeta{Namespace: "kubevirt", Name: "kubevirt"}}
	k.Status.ObservedKubeVirtVersion = observed
	if expected == "" {
		Expect(Unsupported(k, wanted)).To(BeEmpty())
		return
	}
	Expect(Unsupported(k, wanted)).To(ContainSubstring(expected))
},
	Entry("the next minor version", "v1.7.0", "v1.8.4", ""),
	Entry("a patch", "v1.8.3", "v1.8.4", ""),
	Entry("the one that runs", "v1.8.4", "v1.8.4", ""),
	Entry("a downgrade by a patch", "v1.8.4", "v1.8.3", "is not downgraded to v1.8.3"),
	Entry("two minor versions", "v1.6.2", "v1.8.4", "one minor version at a time"),
	Entry("another major version", "v1.8.4", "v2.0.0", "one minor version at a time"),
	Entry("from one that is not reported", "", "v1.8.4", `status.observedKubeVirtVersion is ""`),
	Entry("what is no version", "v1.7.0", "latest", `"latest" is not a version of KubeVirt`),
)

var _ = DescribeTable("Whether virt-operator has to be upgraded before KubeVirt may be upgraded", func(operator, expected string) {
	k := &kubevirtv1.KubeVirt{ObjectMeta: metav1.ObjectMeta{Namespace: "kubevirt", Name: "kubevirt"}}
	k.Status.OperatorVersion = operator
	Expect(OperatorBehind(k, "v1.8.4")).To(Equal(expected))
},
	Entry("it has the version", "v1.8.4", ""),
	Entry("it is newer", "v1.9.0", ""),
	Entry("it is older", "v1.7.0", "virt-operator of KubeVirt kubevirt/kubevirt is v1.7.0: apply the manifests of virt-operator v1.8.4"),
	Entry("it is not reported", "", "virt-operator of KubeVirt kubevirt/kubevirt is of no known version: apply the manifests of virt-operator v1.8.4"),
)

var _ = DescribeTable("What of a roll-out of KubeVirt is not done", func(change func(*kubevirtv1.KubeVirt, *appsv1.DaemonSet), expected string) {
	k := &kubevirtv1.KubeVirt{ObjectMeta: metav1.ObjectMeta{Namespace: "kubevirt", Name: "kubevirt", Generation: 3}}
	k.Status = kubevirtv1.KubeVirtStatus{
		ObservedGeneration: ptr.To[int64](3), TargetKubeVirtVersion: "v1.8.4", ObservedKubeVirtVersion: "v1.8.4",
		TargetDeploymentID: "new", ObservedDeploymentID: "new", Conditions: []kubevirtv1.KubeVirtCondition{
			{Type: kubevirtv1.KubeVirtConditionAvailable, Status: corev1.ConditionTrue},
			{Type: kubevirtv1.KubeVirtConditionProgressing, Status: corev1.ConditionFalse},
			{Type: kubevirtv1.KubeVirtConditionDegraded, Status: corev1.ConditionFalse},
		},
	}
	handler := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kubevirt", Name: "virt-handler", Generation: 2}}
	handler.Status = appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberReady: 3}
	change(k, handler)
	Expect(NotRolledOut(k, handler, "v1.8.4")).To(Equal(expected))
},
	Entry("nothing", func(*kubevirtv1.KubeVirt, *appsv1.DaemonSet) {}, ""),
	Entry("virt-operator has not seen the change",
		func(k *kubevirtv1.KubeVirt, _ *appsv1.DaemonSet) { k.Status.ObservedGeneration = ptr.To[int64](2) },
		"KubeVirt kubevirt/kubevirt was changed, and virt-operator has not acted on that yet: it has to run"),
	Entry("another version is wanted", func(k *kubevirtv1.KubeVirt, _ *appsv1.DaemonSet) { k.Status.TargetKubeVirtVersion = "v1.7.0" },
		"KubeVirt kubevirt/kubevirt is to have v1.7.0 instead of v1.8.4: virt-operator has to run, and to act on that"),
	Entry("it is being updated", func(k *kubevirtv1.KubeVirt, _ *appsv1.DaemonSet) { k.Status.ObservedKubeVirtVersion = "v1.7.0" },
		"KubeVirt kubevirt/kubevirt is being updated from v1.7.0 to v1.8.4"),
	Entry("its deployment has changed", func(k *kubevirtv1.KubeVirt, _ *appsv1.DaemonSet) { k.Status.ObservedDeploymentID = "old" },
		"KubeVirt kubevirt/kubevirt is being updated from v1.8.4 to v1.8.4"),
	Entry("it is not available, although its phase is Deployed", func(k *kubevirtv1.KubeVirt, _ *appsv1.DaemonSet) {
		k.Status.Phase = kubevirtv1.KubeVirtPhaseDeployed
		k.Status.Conditions[0] = kubevirtv1.KubeVirtCondition{
			Type: kubevirtv1.KubeVirtConditionAvailable, Status: corev1.ConditionFalse, Reason: "DeploymentFailed", Message: "says why",
		}
	}, "KubeVirt kubevirt/kubevirt is not well: condition Available is False (DeploymentFailed): says why"),
	Entry("a condition is missing", func(k *kubevirtv1.KubeVirt, _ *appsv1.DaemonSet) { k.Status.Conditions = k.Status.Conditions[:2] },
		"KubeVirt kubevirt/kubevirt is not well: condition Degraded is missing"),
	Entry("it stands still as a node is down", func(k *kubevirtv1.KubeVirt, d *appsv1.DaemonSet) {
		k.Status.ObservedGeneration, k.Status.ObservedKubeVirtVersion, d.Status.UpdatedNumberScheduled = ptr.To[int64](2), "v1.7.0", 0
	}, "KubeVirt kubevirt/kubevirt is being updated from v1.7.0 to v1.8.4; DaemonSet kubevirt/virt-handler: of 3 Pods 0 are updated and 3 Ready; "+
		"a node that is down, or whose Pod is not Ready, holds all others: bring it back"),
	Entry("virt-handler is not rolled out", func(_ *kubevirtv1.KubeVirt, d *appsv1.DaemonSet) { d.Generation = 3 },
		"DaemonSet kubevirt/virt-handler was changed, and is not rolled out yet"),
	Entry("a Pod of virt-handler is not updated", func(_ *kubevirtv1.KubeVirt, d *appsv1.DaemonSet) { d.Status.UpdatedNumberScheduled = 2 },
		"DaemonSet kubevirt/virt-handler: of 3 Pods 2 are updated and 3 Ready; a node that is down, or whose Pod is not Ready, holds all others: bring it back"),
	Entry("a Pod of virt-handler is not Ready", func(_ *kubevirtv1.KubeVirt, d *appsv1.DaemonSet) { d.Status.NumberReady = 2 },
		"DaemonSet kubevirt/virt-handler: of 3 Pods 3 are updated and 2 Ready; a node that is down, or whose Pod is not Ready, holds all others: bring it back"),
)
