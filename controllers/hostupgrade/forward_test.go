// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("An attempt on a Node that is not Ready", func() {
	known := infrav1.UnhealthyObject{Kind: infrav1.UnhealthyDaemonSet, Namespace: "kube-system", Name: "broken-for-ever"}
	// replaced makes a former attempt, with whose image the Node is not Ready.
	replaced := func(ctx context.Context, w *world, phase infrav1.UpgradePhase, steps ...string) {
		GinkgoHelper()
		w.addUpgrade(ctx, "former", w.host, infrav1.NodeUpgradeOption{})
		former := get(ctx, w, "former", &infrav1.ElementalHostUpgrade{})
		former.Status.Phase, former.Status.UnhealthyBefore = phase, []infrav1.UnhealthyObject{known}
		for _, step := range steps {
			former.Status.Steps = append(former.Status.Steps, infrav1.UpgradeStepStatus{Name: step, StartTime: metav1.NewTime(began)})
		}
		Expect(live.Status().Update(ctx, former)).To(Succeed())
	}
	const says = "is not Ready: bring it back"

	It("replaces the image with which it is so, and excuses only what was not healthy before that", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		replaced(ctx, w, infrav1.UpgradeSuperseded, "Reboot", "Assess")
		setNode(ctx, w.host, "boot-1", corev1.ConditionFalse, longAgo)
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Phase", infrav1.UpgradeSucceeded), HaveField("UnhealthyBefore", ConsistOf(known))))
	})

	DescribeTable("waits for it", func(ctx SpecContext, phase infrav1.UpgradePhase, ready corev1.ConditionStatus, steps ...string) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		replaced(ctx, w, phase, steps...)
		setNode(ctx, w.host, "boot-1", ready, longAgo)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(ContainSubstring(says))
	},
		Entry("where its kubelet does not answer: no Pod of it would end", infrav1.UpgradeSuperseded, corev1.ConditionUnknown, "Reboot", "Assess"),
		Entry("where the former attempt succeeded", infrav1.UpgradeSucceeded, corev1.ConditionFalse, "Reboot", "Assess"),
		Entry("where its host was not rebooted", infrav1.UpgradeSuperseded, corev1.ConditionFalse, "Cordon"),
	)
})
