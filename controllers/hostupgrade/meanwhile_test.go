// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"fmt"
	"reflect"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// writeElse has others write something else of the Machine and the ElementalCluster, as a status line, directly before each write of the
// controller of another object: after it has read these two, and before it writes them.
func (w *world) writeElse() {
	written := 0
	w.faults.meanwhile = func(ctx context.Context, object client.Object) {
		GinkgoHelper()
		written++
		line := fmt.Appendf(nil, `{"status": {"conditions": [{"type": "Line", "status": "True", "reason": "R", "message": "%d",
			"lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`, written)
		for _, other := range []client.Object{&clusterv1.Machine{ObjectMeta: w.meta(w.host)}, &infrav1.ElementalCluster{ObjectMeta: w.meta(clusterName)}} {
			if reflect.TypeOf(object) != reflect.TypeOf(other) {
				Expect(live.Status().Patch(ctx, other, client.RawPatch(types.MergePatchType, line))).To(Succeed())
			}
		}
	}
}

// once has somebody do something directly before the next write of an object like this one.
func once[T client.Object](w *world, do func(ctx context.Context)) {
	w.faults.meanwhile = func(ctx context.Context, object client.Object) {
		if _, is := object.(T); is {
			w.faults.meanwhile = nil
			do(ctx)
		}
	}
}

var _ = Describe("What others write meanwhile", func() {
	It("of something else is no conflict", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.writeElse()
		for range 40 {
			_, err := w.reconcile(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(w.status(ctx).Step).NotTo(Equal("Admit"), "nobody else takes the slot")
			w.agent.tick(ctx)
			w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
		}
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("keeps an attempt from a slot that another one has taken", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		once[*infrav1.ElementalCluster](w, func(ctx context.Context) { takeSlot(ctx, w) })
		w.drive(ctx, nil)
		Expect(w.slots(ctx)).To(ConsistOf("upgrade-z"))
		Expect(w.status(ctx).Step).To(Equal("Admit"))
		Expect(w.agent.applied).To(BeEmpty())
	})

	It("of a Machine is not replaced if it is a mark of somebody else", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		once[*clusterv1.Machine](w, func(ctx context.Context) {
			change(ctx, w, w.host, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
				machine.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: "mine"}
			})
		})
		conflicts := 0
		for range 40 {
			if _, err := w.reconcile(ctx); err != nil {
				Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
				conflicts++
			}
			w.agent.tick(ctx)
			w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
		}
		Expect(conflicts).To(Equal(1))
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
		Expect(get(ctx, w, w.host, &clusterv1.Machine{}).Annotations).To(HaveKeyWithValue(clusterv1.MachineSkipRemediationAnnotation, "mine"))
	})
})

var _ = Describe("A new attempt", func() {
	It("says that it is not paused with the first that it reports", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		before := w.faults.lasting()
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(w.faults.lasting()-before).To(Equal(1), "what it has to have before it leaves any mark")
		Expect(w.status(ctx).Conditions).To(BeEmpty())
		_, err = w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(w.faults.lasting()-before).To(Equal(3), "the host is asked, and that is reported")
		upgrade := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
		Expect(conditions.IsFalse(upgrade, clusterv1.PausedCondition)).To(BeTrue())
		Expect(conditions.IsTrue(upgrade, infrav1.UpgradeProgressingCondition)).To(BeTrue())
	})

	It("says so at once if it is, and stops there", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		pause(ctx, w, true)
		w.rest(ctx)
		upgrade := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
		Expect(conditions.IsTrue(upgrade, clusterv1.PausedCondition)).To(BeTrue())
		Expect(upgrade.Finalizers).To(BeEmpty())
		Expect(w.marks(ctx).Asked).To(BeFalse())
	})
})
