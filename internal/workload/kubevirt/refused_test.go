// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var (
	something = schema.GroupResource{Group: "kubevirt.io", Resource: "things"}
	forbidden = apierrors.NewForbidden(something, "a", errors.New("not on Sundays"))
	conflict  = apierrors.NewConflict(something, "a", errors.New("it has changed"))
	gone      = apierrors.NewNotFound(something, "a")
	exists    = apierrors.NewAlreadyExists(something, "a")
	errReset  = errors.New("connection reset by peer")
)

var _ = Describe("A write that makes a virtual machine leave", func() {
	DescribeTable("and is refused", func(ctx SpecContext, action string, passing []error, changes ...change) {
		w := newWorld(ctx)
		w.policy = infrav1.VMPolicyShutdown
		w.add(ctx, "a", changes...)
		w.refuses = forbidden
		progress := w.evacuate(ctx)
		Expect(progress.Held).To(BeTrue())
		Expect(progress.Message).To(HavePrefix("VirtualMachineInstance " + w.namespace + "/a cannot be " + action + ": "))
		Expect(progress.Message).To(HaveSuffix("not on Sundays"))

		By("being asked again, for a virtual machine that has changed or gone meanwhile")
		for _, w.refuses = range passing {
			progress = w.evacuate(ctx)
			Expect(progress).To(And(HaveField("Held", false), HaveField("Done", false), HaveField("Left", 1)))
		}

		By("an API server that fails")
		w.refuses = errReset
		_, err := kubevirt.Evacuate(ctx, w.evacuation(ctx))
		Expect(err).To(MatchError(errReset))
		Expect(err).To(MatchError(HavePrefix("evacuating VirtualMachineInstance " + w.namespace + "/a: ")))
	},
		Entry("is an eviction", "evicted", []error{gone}), // of a conflict the API server tries again by itself
		Entry("is a migration of ours", "migrated", []error{exists, gone}, strategy(kubevirtv1.EvictionStrategyNone)),
		Entry("stops it", "shut down", []error{conflict, gone}, notMigratable),
		Entry("deletes it", "deleted", []error{conflict, gone}, notMigratable, ownerless),
	)

	It("is not made for a Pod that is ending", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		Expect(live.Delete(ctx, &corev1.Pod{ObjectMeta: w.meta("virt-launcher-a")})).To(Succeed())
		Expect(w.evacuate(ctx)).To(And(HaveField("Held", false), HaveField("Done", false), HaveField("Left", 1)))
		Expect(w.calls["evict"]).To(BeZero())
	})
})

var _ = Describe("A start that is refused", func() {
	It("is said, and one of a virtual machine that has changed is made again", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, power{strategy: kubevirtv1.RunStrategyAlways})
		w.refuses = forbidden
		progress := w.restore(ctx)
		Expect(progress).To(And(HaveField("Held", true), HaveField("Done", false), HaveField("Left", 1)))
		Expect(progress.Message).To(HavePrefix("VirtualMachine " + w.namespace + "/a cannot be started again: "))
		w.refuses = conflict
		Expect(w.restore(ctx)).To(And(HaveField("Held", false), HaveField("Done", false), HaveField("Left", 1)))
		w.refuses = errReset
		_, err := kubevirt.Restore(ctx, kubevirt.Restoration{Client: w.client, NodeName: nodeOne})
		Expect(err).To(MatchError(errReset))
		w.refuses = nil
		Expect(w.restore(ctx).Done).To(BeTrue())
	})

	It("is not made for a virtual machine that a person halts before", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, power{strategy: kubevirtv1.RunStrategyManual})
		Expect(w.restore(ctx).Done).To(BeFalse(), "the strategy first")
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) { v.Spec.RunStrategy = new(kubevirtv1.RunStrategyHalted) })
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(w.machine(ctx, "a").Status.StateChangeRequests).To(BeEmpty())
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(kubevirtv1.RunStrategyHalted))
	})
})
