// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("An upgrade whose node is being drained", func() {
	// draining is held by a PodDisruptionBudget, beside another node.
	draining := func(ctx context.Context) *world {
		GinkgoHelper()
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.addWorker(ctx, w.namespace+"-b")
		guardPod(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
		return w
	}
	preflight := func(ctx context.Context, w *world) []infrav1.PreflightResult {
		GinkgoHelper()
		return get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Status.Preflight
	}

	It("goes on when another node goes down, and says so", func(ctx SpecContext) {
		w := draining(ctx)
		setNode(ctx, w.namespace+"-b", "boot-1", corev1.ConditionFalse, began)
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
		Expect(preflight(ctx, w)).To(ConsistOf(And(HaveField("Check", "OtherNodes"), HaveField("Verdict", infrav1.PreflightWarn))))
		allowEviction(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("is held when its host is not approved any more", func(ctx SpecContext) {
		w := draining(ctx)
		host := get(ctx, w, w.host, &infrav1.ElementalHost{})
		host.Spec.Approved = false
		Expect(live.Update(ctx, host)).To(Succeed())
		allowEviction(ctx, w)
		w.rest(ctx)
		Expect(w.status(ctx).Position()).To(Equal("Preflight (1/14)"))
		Expect(preflight(ctx, w)).To(ConsistOf(And(HaveField("Check", "Approved"), HaveField("Verdict", infrav1.PreflightBlock))))
		Expect(w.faults.triggers).To(BeEmpty())
	})
})

// onlyWatched is a client whose cache has no kinds but those that the manager watches.
type onlyWatched struct{ client.Client }

func (c onlyWatched) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, isOther := object.(*unstructured.Unstructured); isOther {
		return errors.New("the cache waits for a kind that must not be listed")
	}
	return c.Client.Get(ctx, key, object, options...)
}

var _ = It("A Machine of a control plane of any kind gets its slot without a look at that in the cache", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	change(ctx, w, w.host, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
		machine.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "controlplane.cluster.x-k8s.io/v1", Kind: "OtherControlPlane", Name: "cp", UID: "1", Controller: new(true),
		}}
	})
	w.reconciler.Client = onlyWatched{w.reconciler.Client}
	w.drive(ctx, nil)
	Expect(w.marks(ctx)).To(Equal(clean))
})
