// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// connector connects to the API server of the suite, or to none.
type connector struct{ unreachable bool }

func (f *connector) Connect(context.Context, client.ObjectKey) (*workload.Cluster, error) {
	if f.unreachable {
		return nil, workload.ErrUnreachable
	}
	return workload.New(c, c).WithConfig(plane.Config), nil
}

var _ = Describe("The gates of an ElementalClusterUpgrade", func() {
	var (
		w     *world
		state *corev1.ConfigMap
		to    *connector
	)

	BeforeEach(func() {
		w, to = newWorld(), &connector{}
		w.reconciler.Workload = to
		account := &corev1.ServiceAccount{ObjectMeta: w.meta("gates")}
		account.Annotations = map[string]string{infrav1.GatesAnnotation: infrav1.GatesAllowed}
		state = &corev1.ConfigMap{ObjectMeta: w.meta("state"), Data: map[string]string{"health": "bad"}}
		plane.Create(ctx, account, state,
			&rbacv1.Role{ObjectMeta: w.meta("gates"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}},
			&rbacv1.RoleBinding{
				ObjectMeta: w.meta("gates"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "gates"},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "gates"}},
			})
	})

	gated := func(u *infrav1.ElementalClusterUpgrade) {
		u.Spec.GateServiceAccount = &infrav1.GateServiceAccount{Namespace: w.namespace, Name: "gates"}
		u.Spec.Gates = []infrav1.UpgradeGate{{Name: "storage", Expression: "self.data.health == 'good'", Object: &infrav1.GateObject{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "state",
		}}}
	}
	becomes := func(health string) {
		GinkgoHelper()
		apiserver.Change(ctx, c, state, func(m *corev1.ConfigMap) { m.Data["health"] = health })
	}
	isClosed := func() OmegaMatcher {
		return And(HaveField("Phase", infrav1.ClusterUpgradeProgressing),
			HaveField("Message", "gate storage is closed: the expression is false of ConfigMap "+w.namespace+"/state. "+
				"It is evaluated again by itself, and may be changed in spec.gates of the ElementalClusterUpgrade"),
			HaveField("Gates", ConsistOf(And(HaveField("Name", "storage"), HaveField("Open", BeFalse()),
				HaveField("Message", "the expression is false of ConfigMap "+w.namespace+"/state")))))
	}
	isOpen := func() OmegaMatcher { return HaveField("Gates", ConsistOf(HaveField("Open", BeTrue()))) }

	It("hold the nodes of a stage, and the end", func() {
		w.begin(gated)
		Eventually(w.settle).Should(And(isClosed(), HaveField("Stage", "a (3/5)"))) // the rights of the ServiceAccount are known a moment later
		Expect(w.hold("a")).To(Equal(infrav1.HoldGateClosed))
		becomes("good")
		Expect(w.settle()).To(isOpen())
		Expect(w.hold("a")).To(BeEmpty())

		By("not being evaluated while a node is in work, which closes them")
		attempt := w.attempt("a", infrav1.UpgradeProgressing, true)
		apiserver.ChangeStatus(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(cluster *infrav1.ElementalCluster) {
			cluster.Status.UpgradeSlots = []infrav1.UpgradeSlot{{Attempt: attempts.ID(attempt), Upgrade: attempt.Name}}
		})
		becomes("bad")
		Expect(w.settle()).To(And(isOpen(), HaveField("Message", "node node-a is at Cordon (5/14)")))

		By("being evaluated again after the node")
		apiserver.ChangeStatus(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(cluster *infrav1.ElementalCluster) { cluster.Status.UpgradeSlots = nil })
		w.brings(attempt, infrav1.UpgradeSucceeded, true)
		w.runs("a", imageB)
		Expect(w.settle()).To(And(isClosed(), HaveField("Stage", "b (4/5)")))
		Expect(w.hold("b")).To(Equal(infrav1.HoldGateClosed))
		becomes("good")
		Expect(w.settle().Stage).To(Equal("b (4/5)"))
		Expect(w.hold("b")).To(BeEmpty())

		By("closing before the end")
		becomes("bad")
		w.runs("b", imageB)
		Expect(w.settle()).To(And(isClosed(), HaveField("Stage", "Cleanup (5/5)")))
		becomes("good")
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeSucceeded))
	})

	It("are closed while the workload cluster cannot be reached, and may be taken back", func() {
		to.unreachable = true
		w.begin(gated)
		Expect(w.upgrade.Status.Message).To(HavePrefix("gate storage is closed: cannot reach workload cluster c: not connected"))
		Expect(w.hold("a")).To(Equal(infrav1.HoldGateClosed))
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Gates = nil })
		Expect(w.settle().Gates).To(BeEmpty())
		Expect(w.hold("a")).To(BeEmpty())
	})
})
