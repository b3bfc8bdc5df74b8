// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
)

var _ = Describe("An attempt in a Cluster whose upgrade has a gate", func() {
	var (
		w     *world
		order *infrav1.ElementalClusterUpgrade
		state *corev1.ConfigMap
	)

	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.connector.config = server.Config
		account := &corev1.ServiceAccount{ObjectMeta: w.meta("gates")}
		account.Annotations = map[string]string{infrav1.GatesAnnotation: infrav1.GatesAllowed}
		state = &corev1.ConfigMap{ObjectMeta: w.meta("state"), Data: map[string]string{"health": "bad"}}
		order = &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("edge"), Spec: infrav1.ElementalClusterUpgradeSpec{
			ClusterName: clusterName, OSVersion: infrav1.ClusterOSVersion{ImageURI: newImage},
			GateServiceAccount: &infrav1.GateServiceAccount{Namespace: w.namespace, Name: "gates"},
			Gates: []infrav1.UpgradeGate{{Name: "storage", Expression: "self.data.health == 'good'", Object: &infrav1.GateObject{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "state",
			}}},
		}}
		for _, object := range []client.Object{
			account, state, order,
			&rbacv1.Role{ObjectMeta: w.meta("gates"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}},
			&rbacv1.RoleBinding{
				ObjectMeta: w.meta("gates"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "gates"},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "gates"}},
			},
		} {
			Expect(live.Create(ctx, object)).To(Succeed())
		}
	})

	// record what the controller of the order writes: that the gate is open, for what is so now.
	record := func(ctx context.Context, change func(*infrav1.ClusterUpgradeGate)) {
		GinkgoHelper()
		recorded := order.DeepCopy()
		recorded.Status.Stages = []infrav1.ClusterUpgradeStage{
			{Name: "Preflight", CompletionTime: ptr.To(metav1.NewTime(began))}, {Name: "Prefetch", CompletionTime: ptr.To(metav1.NewTime(began))},
		}
		plan, err := clusterupgrade.Read(ctx, w.reconciler.Client, recorded, nil)
		Expect(err).NotTo(HaveOccurred())
		gate := infrav1.ClusterUpgradeGate{Name: "storage", Open: true, Key: plan.GateKey(began)}
		change(&gate)
		recorded.Status.Gates = []infrav1.ClusterUpgradeGate{gate}
		Expect(live.Status().Patch(ctx, recorded, client.MergeFrom(order))).To(Succeed())
		order = recorded
	}
	opened := func(*infrav1.ClusterUpgradeGate) {}

	DescribeTable("waits at Admit for a gate that", func(ctx SpecContext, change func(*infrav1.ClusterUpgradeGate), expected string) {
		record(ctx, change)
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Step", "Admit"), HaveField("Message", HavePrefix("waiting for ElementalClusterUpgrade edge: "+expected))))
		Expect(w.slots(ctx)).To(BeEmpty())
	},
		Entry("was not evaluated after the last node", func(g *infrav1.ClusterUpgradeGate) { g.Key = "former" }, "gate storage is being evaluated"),
		Entry("was closed", func(g *infrav1.ClusterUpgradeGate) { g.Open, g.Message = false, "says something" }, "gate storage is closed: says something. It is evaluated again"),
	)

	It("reads the object before it takes its slot, whatever was recorded", func(ctx SpecContext) {
		record(ctx, opened)
		Eventually(func(g Gomega) { // the rights of the ServiceAccount are known a moment later
			w.drive(ctx, nil)
			g.Expect(w.status(ctx)).To(And(HaveField("Step", "Admit"), HaveField("Message",
				HavePrefix("waiting for ElementalClusterUpgrade edge: gate storage is closed: the expression is false of ConfigMap "+w.namespace+"/state."))))
		}).Should(Succeed())
		Expect(w.slots(ctx)).To(BeEmpty())

		state.Data["health"] = "good"
		Expect(live.Update(ctx, state)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})
})
