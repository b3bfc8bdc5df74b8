// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

func pausing(nodes ...string) infrav1.NodeUpgradeOption {
	return infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: nodes}}
}

var _ = Describe("Names in pauseNodes that are no nodes", func() {
	var object *infrav1.ElementalCluster
	known := func(ctx context.Context) (*metav1.Condition, error) {
		err := server.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return conditions.Get(object, infrav1.PauseNodesKnownCondition), err
	}
	configure := func(ctx SpecContext, options infrav1.NodeUpgradeOption) {
		GinkgoHelper()
		apiserver.Change(ctx, server.Client, object, func(c *infrav1.ElementalCluster) { c.Spec.NodeUpgradeOption = options })
	}

	It("are reported of the spec, and of the rollout that runs with them", func(ctx SpecContext) {
		p := makePool(ctx)
		object = p.cluster
		configure(ctx, pausing("z", "node-1", "y"))
		const inSpec = "spec.nodeUpgradeOption.strategy.pauseNodes names y, z, which are no nodes of the cluster: correct it before the next rollout"
		Eventually(known).WithContext(ctx).Should(HaveValue(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", infrav1.UnknownNodesReason), HaveField("Message", inSpec))))
		Eventually(func(ctx context.Context) ([]eventsv1.Event, error) {
			events := &eventsv1.EventList{}
			err := server.Client.List(ctx, events, client.InNamespace(object.Namespace))
			return events.Items, err
		}).WithContext(ctx).Should(ContainElement(And(
			HaveField("Reason", infrav1.EventUnknownPauseNodes), HaveField("Type", corev1.EventTypeWarning), HaveField("Note", inSpec))))

		attempt := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace, Name: "attempt", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
		}}
		attempt.Spec = infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c1", MachineName: "m-node-1", ElementalMachineName: "node-1", HostName: "node-1", RolloutName: "new", ImageURI: v2Image,
			OSVersionManagement: p.machines[0].Spec.OSVersionManagement, Options: pausing("x", "node-2"),
		}
		Expect(server.Client.Create(ctx, attempt)).To(Succeed())
		configure(ctx, pausing("node-2"))
		Eventually(known).WithContext(ctx).Should(HaveValue(HaveField("Message", "pauseNodes of ElementalRollout new names x, which is no node of the cluster: "+
			"annotate the Node that is meant with "+infrav1.NodeUpgradePauseAnnotation)))

		Expect(server.Client.Delete(ctx, attempt)).To(Succeed())
		Eventually(known).WithContext(ctx).Should(HaveValue(HaveField("Status", metav1.ConditionTrue)))
		configure(ctx, infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{PauseNodes: []string{"z"}}})
		Eventually(known).WithContext(ctx).Should(BeNil(), "in mode auto nothing is paused")
	})

	It("are not judged while a Machine has no Node yet", func(ctx SpecContext) {
		p := makePool(ctx)
		object = p.cluster
		machine := &clusterv1.Machine{}
		Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: "m-node-2"}, machine)).To(Succeed())
		apiserver.ChangeStatus(ctx, server.Client, machine, func(m *clusterv1.Machine) { m.Status.NodeRef = clusterv1.MachineNodeReference{} })
		configure(ctx, pausing("node-2"))
		Eventually(known).WithContext(ctx).Should(HaveValue(HaveField("Status", metav1.ConditionTrue)))
	})
})
