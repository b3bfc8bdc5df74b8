// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package virtoperator_test

import (
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
)

func beDeployed(version string) types.GomegaMatcher {
	return WithTransform(func(object *kubevirtv1.KubeVirt) bool { return kubevirt.IsDeployed(object, version) }, BeTrue())
}

func haveCondition(kind kubevirtv1.KubeVirtConditionType, status corev1.ConditionStatus) types.GomegaMatcher {
	return WithTransform(func(object *kubevirtv1.KubeVirt) corev1.ConditionStatus {
		return kubevirt.ConditionOf(object, kind).Status
	}, Equal(status))
}

// areRolledOut matches the DaemonSet virt-handler when its Pods on both nodes are Ready and of a version.
func areRolledOut(version string) types.GomegaMatcher {
	return WithTransform(func(set *appsv1.DaemonSet) bool {
		status := &set.Status
		return status.ObservedGeneration == set.Generation && status.DesiredNumberScheduled == 2 &&
			status.UpdatedNumberScheduled == 2 && status.NumberReady == 2 &&
			set.Spec.Template.Spec.Containers[0].Image == handlerImage+version
	}, BeTrue())
}

// beReady matches a Pod.
func beReady() types.GomegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))
}

// haveImage matches a Pod of virt-handler of a version, and the template of one.
func haveImage(version string) types.GomegaMatcher {
	return HaveField("Spec.Containers", ContainElement(HaveField("Image", handlerImage+version)))
}
