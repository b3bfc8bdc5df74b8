// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

func newKey() string {
	GinkgoHelper()
	public, _, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	encoded, err := token.EncodePublicKey(public)
	Expect(err).NotTo(HaveOccurred())
	return encoded
}

var _ = Describe("The key of a deleted host", func() {
	// makeDoor makes the registration of a namespace, which denies some keys already.
	makeDoor := func(ctx context.Context, namespace string, denied int, reset infrav1.DeniedKeyReset) {
		GinkgoHelper()
		registration := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edge"}}
		for i := range denied {
			registration.Spec.DeniedKeys = append(registration.Spec.DeniedKeys, infrav1.DeniedKey{PubKey: newKey(), Host: fmt.Sprintf("m-%d", i), Reset: reset})
		}
		Expect(server.Client.Create(ctx, registration)).To(Succeed())
	}
	come := func(ctx context.Context, denied int, reset infrav1.DeniedKeyReset) func(*infrav1.ElementalHost) {
		return func(h *infrav1.ElementalHost) {
			makeDoor(ctx, h.Namespace, denied, reset)
			h.Spec.PubKey = newKey()
			if h.Annotations == nil {
				h.Annotations = map[string]string{}
			}
			h.Annotations[infrav1.RegistrationNameAnnotation] = "edge"
			h.Finalizers = []string{infrav1.ElementalMachineFinalizer}
		}
	}
	registration := func(ctx context.Context, host *infrav1.ElementalHost) *infrav1.ElementalRegistration {
		GinkgoHelper()
		found := &infrav1.ElementalRegistration{}
		Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: "edge"}, found)).To(Succeed())
		return found
	}
	told := func(ctx context.Context, host *infrav1.ElementalHost) func() []string {
		return func() (notes []string) {
			found := &eventsv1.EventList{}
			Expect(server.Client.List(ctx, found, client.InNamespace(host.Namespace))).To(Succeed())
			for _, event := range found.Items {
				if event.Reason == infrav1.EventHostKeyDenied {
					notes = append(notes, event.Type+": "+event.Note)
				}
			}
			return notes
		}
	}
	stray := func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true }
	phase := func(phase infrav1.HostPhase) func(*infrav1.ElementalHost) {
		return func(h *infrav1.ElementalHost) { h.Status.Phase = phase }
	}

	DescribeTable("is denied by its registration",
		func(ctx SpecContext, change func(*infrav1.ElementalHost), after time.Duration, reset infrav1.DeniedKeyReset, note string) {
			host := makeHost(ctx, come(ctx, 0, ""), change)
			key := host.Spec.PubKey
			Eventually(server.Stored(ctx, host)).Should(HaveField("Status.Conditions", Not(BeEmpty())))
			Expect(server.Client.Delete(ctx, host)).To(Succeed())
			if after > 0 {
				// The wait is counted from when the controller sees the deletion.
				apiserver.Get(ctx, server.Client, host)
				Eventually(server.Stored(ctx, host)).Should(observed(host.Generation))
				Consistently(isGone(ctx, host)).Should(BeFalse())
				Expect(registration(ctx, host).Spec.DeniedKeys).To(BeEmpty())
				clock.SetTime(time.Now().Add(after))
				DeferCleanup(func() { clock.SetTime(time.Now()) })
				apiserver.Change(ctx, server.Client, host, func() { host.Labels["touched"] = "true" })
			}
			Eventually(isGone(ctx, host)).Should(BeTrue())
			Expect(registration(ctx, host).Spec.DeniedKeys).To(ConsistOf(And(
				HaveField("PubKey", key), HaveField("Host", "h1"), HaveField("Reset", reset), HaveField("Since.Time", Not(BeZero())))))
			Eventually(told(ctx, host)).Should(ConsistOf(HavePrefix(note)))
		},
		Entry("when it served nothing", func(*infrav1.ElementalHost) {}, time.Duration(0), infrav1.DeniedKeyReset(""), "Normal: The key of the host is denied"),
		Entry("when it is part of a cluster that knows nothing of it, and has not been asked to reset itself", stray,
			time.Duration(0), infrav1.DeniedKeyReset(""), "Normal: The key of the host is denied"),
		Entry("when it says that it resets itself, and not within half an hour that it has",
			func(h *infrav1.ElementalHost) { released(h); phase(infrav1.HostPhaseResetting)(h) },
			31*time.Minute, infrav1.DeniedKeyResetPending, "Warning: The host has not said that it has been wiped"),
		Entry("when it only pretends to reset itself", phase(infrav1.HostPhaseResetting),
			31*time.Minute, infrav1.DeniedKeyResetPending, "Warning: The host has not said that it has been wiped"),
	)

	DescribeTable("is not denied",
		func(ctx SpecContext, changes ...func(*infrav1.ElementalHost)) {
			host := makeHost(ctx, append([]func(*infrav1.ElementalHost){come(ctx, 0, "")}, changes...)...)
			Expect(server.Client.Delete(ctx, host)).To(Succeed())
			if _, moves := host.Annotations[clusterctlv1.DeleteForMoveAnnotation]; moves {
				Consistently(func() []infrav1.DeniedKey { return registration(ctx, host).Spec.DeniedKeys }).Should(BeEmpty())
				apiserver.Change(ctx, server.Client, host, func() { host.Finalizers = nil }) // as clusterctl does
			}
			Eventually(isGone(ctx, host)).Should(BeTrue())
			Expect(registration(ctx, host).Spec.DeniedKeys).To(BeEmpty())
		},
		Entry("once the host has been wiped", released, phase(infrav1.HostPhaseReset)),
		Entry("once the host has been wiped before it was moved here", released, func(h *infrav1.ElementalHost) {
			h.Labels[infrav1.ResetLabel] = "true"
		}),
		Entry("by a move", func(h *infrav1.ElementalHost) { h.Annotations[clusterctlv1.DeleteForMoveAnnotation] = "" }),
		Entry("if it is no key", func(h *infrav1.ElementalHost) { h.Spec.PubKey = "key" }),
	)

	unapproved := func(h *infrav1.ElementalHost) { h.Spec.Approved = false }
	served := func(h *infrav1.ElementalHost) { h.Labels[infrav1.ElementalMachineNameLabel] = "m1" }

	DescribeTable("is denied only if somebody other than a holder of the registration's token has trusted the host,",
		func(ctx SpecContext, approval infrav1.ApprovalPolicy, denied int, changes ...func(*infrav1.ElementalHost)) {
			host := makeHost(ctx, append([]func(*infrav1.ElementalHost){come(ctx, 0, "")}, changes...)...)
			opened := registration(ctx, host)
			apiserver.Change(ctx, server.Client, opened, func() { opened.Spec.Approval = approval })
			Eventually(server.Stored(ctx, host)).Should(HaveField("Status.Conditions", Not(BeEmpty())))
			Expect(server.Client.Delete(ctx, host)).To(Succeed())
			Eventually(isGone(ctx, host)).Should(BeTrue())
			Expect(registration(ctx, host).Spec.DeniedKeys).To(HaveLen(denied))
		},
		Entry("not one that nobody has approved", infrav1.ApprovalManual, 0, unapproved),
		Entry("not one that says itself that it is a node and resets itself, which is not waited for",
			infrav1.ApprovalManual, 0, unapproved, stray, phase(infrav1.HostPhaseResetting)),
		Entry("not one that its token has approved", infrav1.ApprovalAuto, 0, stray),
		Entry("one that has served a machine", infrav1.ApprovalAuto, 1, served),
		Entry("one that has served a machine and lost its approval", infrav1.ApprovalManual, 1, unapproved, served),
		Entry("one that a person has approved", infrav1.ApprovalManual, 1),
	)

	It("goes with its registration", func(ctx SpecContext) {
		host := makeHost(ctx, come(ctx, 0, ""))
		Expect(server.Client.Delete(ctx, registration(ctx, host))).To(Succeed())
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Eventually(isGone(ctx, host)).Should(BeTrue())
	})

	It("is waited for where the registration has no room, and takes that of a host that has been wiped", func(ctx SpecContext) {
		host := makeHost(ctx, come(ctx, infrav1.MaxDeniedKeys, infrav1.DeniedKeyResetPending))
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.ResetReadyCondition, metav1.ConditionFalse, infrav1.DeniedKeysFullReason))
		Consistently(isGone(ctx, host)).Should(BeFalse())

		full := registration(ctx, host)
		wiped := full.Spec.DeniedKeys[7].PubKey
		apiserver.Change(ctx, server.Client, full, func() { full.Spec.DeniedKeys[7].Reset = infrav1.DeniedKeyResetDone })
		apiserver.Change(ctx, server.Client, host, func() { host.Labels["touched"] = "true" })
		Eventually(isGone(ctx, host)).Should(BeTrue())
		Expect(registration(ctx, host).Spec.DeniedKeys).To(And(HaveLen(infrav1.MaxDeniedKeys),
			ContainElement(HaveField("PubKey", host.Spec.PubKey)), Not(ContainElement(HaveField("PubKey", wiped)))))
	})

	It("is there from the first moment on that a host of an older release is seen", func(ctx SpecContext) {
		host := makeHost(ctx)
		Eventually(server.Stored(ctx, host)).Should(HaveField("Finalizers", ConsistOf(infrav1.ElementalMachineFinalizer)))
	})
})
