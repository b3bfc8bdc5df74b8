// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("An attempt replaces an image with which the Node is not Ready", func(expected bool, changes ...func(*observation)) {
	notReady := func(o *observation) { o.node.Status.Conditions[0].Status = corev1.ConditionFalse }
	former := func(o *observation) {
		o.attempts = []infrav1.ElementalHostUpgrade{*o.upgrade, {
			ObjectMeta: metav1.ObjectMeta{Name: "former", UID: "former"},
			Spec:       infrav1.ElementalHostUpgradeSpec{MachineName: "m"},
			Status: infrav1.ElementalHostUpgradeStatus{
				Phase: infrav1.UpgradeSuperseded, Steps: []infrav1.UpgradeStepStatus{{Name: stepAssess, StartedAt: metav1.NewTime(noon)}},
			},
		}}
	}
	Expect(typical(append([]func(*observation){notReady, former}, changes...)...).fixesForward()).To(Equal(expected))
},
	Entry("of an attempt that was superseded when its host had booted", true),
	Entry("but its kubelet does not answer", false, func(o *observation) { o.node.Status.Conditions[0].Status = corev1.ConditionUnknown }),
	Entry("but it is Ready", false, func(o *observation) { o.node.Status.Conditions[0].Status = corev1.ConditionTrue }),
	Entry("but there was no attempt before", false, func(o *observation) { o.attempts = o.attempts[:1] }),
	Entry("but that was of a former Machine", false, func(o *observation) { o.attempts[1].Spec.MachineName = "former" }),
	Entry("but that succeeded", false, func(o *observation) { o.attempts[1].Status.Phase = infrav1.UpgradeSucceeded }),
	Entry("but its host had not booted it", false, func(o *observation) { o.attempts[1].Status.Steps = nil }),
)

var _ = It("A superseded attempt does not wait for the other Machines of a control plane that Cluster API does not update", func(ctx SpecContext) {
	o := typical(func(o *observation) { o.machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""} })
	Expect((&Reconciler{}).awaitControlPlane(ctx, o)).To(HaveField("IsDone()", true))
})
