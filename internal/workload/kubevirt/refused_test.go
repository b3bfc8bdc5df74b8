// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
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

// answered is an answer of an API server by its code alone.
func answered(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: "not so"}}
}

var away = HaveSuffix("/a: virt-api of KubeVirt does not answer: see its Deployment")

var _ = DescribeTable("What answers the write that stops a virtual machine", func(ctx SpecContext, answer error, held types.GomegaMatcher) {
	w := newWorld(ctx)
	w.policy = infrav1.VMPolicyShutdown
	w.add(ctx, "a", notMigratable)
	w.refuses = answer
	progress, err := kubevirt.Evacuate(ctx, w.evacuation(ctx))
	if held == nil {
		Expect(err).To(MatchError(answer), "it is tried again")
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(progress).To(And(HaveField("Held", true), HaveField("Message", held)))
},
	Entry("a redirection", answered(399), nil),
	Entry("a refusal", answered(400), ContainSubstring("cannot be shut down: ")),
	Entry("another refusal", answered(499), ContainSubstring("cannot be shut down: ")),
	Entry("a failure", answered(501), nil),
	Entry("a failure without a reason", answered(500), away),
	Entry("an API server that is busy", apierrors.NewTooManyRequests("busy", 1), nil),
	Entry("a webhook that is away", apierrors.NewInternalError(errReset), away),
	Entry("a time-out of the API server", apierrors.NewTimeoutError("slow", 1), away),
	Entry("a webhook that has no time", apierrors.NewServerTimeout(something, "patch", 1), away),
	Entry("nobody, for virt-api", apierrors.NewServiceUnavailable("no endpoints"), away),
	Entry("nobody, within the time for it", context.DeadlineExceeded, away),
)

var _ = Describe("A write that the manager gives up, because it ends", func() {
	It("says nothing of virt-api", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.policy = infrav1.VMPolicyShutdown
		w.add(ctx, "a", notMigratable)
		w.refuses = context.DeadlineExceeded
		ending, end := context.WithCancel(ctx)
		w.raced = end
		_, err := kubevirt.Evacuate(ending, w.evacuation(ctx))
		Expect(err).To(MatchError(context.DeadlineExceeded))
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
		_, err := kubevirt.Restore(ctx, kubevirt.Restoration{Restoration: workload.Restoration{NodeName: nodeOne}, Client: w.client})
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
