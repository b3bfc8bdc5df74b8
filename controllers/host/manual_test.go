// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// eventsOf are the events about a host, as "reason: note".
func eventsOf(ctx SpecContext, about *infrav1.ElementalHost) func() ([]string, error) {
	return func() ([]string, error) {
		list := &eventsv1.EventList{}
		err := server.Client.List(ctx, list, client.InNamespace(about.Namespace))
		said := []string{}
		for i := range list.Items {
			if list.Items[i].Regarding.Name == about.Name {
				said = append(said, list.Items[i].Reason+": "+list.Items[i].Note)
			}
		}
		return said, err
	}
}

func unmanaged(outcome string) float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, one := range family.GetMetric() {
			if family.GetName() == "elemental_unmanaged_upgrades_total" && one.GetLabel()[0].GetValue() == outcome {
				return one.GetCounter().GetValue()
			}
		}
	}
	Fail("no series of outcome " + outcome)
	return 0
}

// attemptOf is what the Elemental API asks the host for.
func attemptOf(of *infrav1.ElementalHost) string {
	if upgrade := hostapi.Desired(of).Upgrade; upgrade != nil {
		return upgrade.Attempt
	}
	return ""
}

var _ = Describe("An upgrade by hand", func() {
	bootstrapped := func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true }
	idOf := func(run string) string {
		return "manual-" + osversion.Hash(osversion.OfImage("oci://os:v2")) + "-" + run
	}

	// Serial, because it counts what all specs do.
	It("that rolled back is carried out again when it is triggered again", Serial, func(ctx SpecContext) {
		before := unmanaged(infrav1.InPlaceUpgradeRolledBack)
		h := makeHost(ctx, byHand, bootstrapped)
		Expect(attemptOf(h)).To(Equal(idOf("1")))
		apiserver.ChangeStatus(ctx, server.Client, h, func() { reported(idOf("1"), infrav1.HostUpgradeApplying)(h) })
		Eventually(server.Stored(ctx, h)).Should(apiserver.HaveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.UnmanagedReason))
		Eventually(eventsOf(ctx, h)).Should(ContainElement(HavePrefix(infrav1.EventUnmanagedUpgradeStarted)))
		apiserver.ChangeStatus(ctx, server.Client, h, func() {
			reported(idOf("1"), infrav1.HostUpgradeRolledBack)(h)
			h.Status.Upgrade.Message = "the wanted snapshot did not boot"
		})
		Eventually(server.Stored(ctx, h)).Should(apiserver.HaveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.RolledBackReason))
		Expect(h.Annotations).To(SatisfyAll(
			HaveKeyWithValue(infrav1.ManualUpgradesAnnotation, "1"),
			HaveKeyWithValue(infrav1.LastAttemptAnnotation, idOf("1")+"=rolled-back@sha256:2")))
		Eventually(eventsOf(ctx, h)).Should(ContainElement(And(
			HavePrefix(infrav1.EventUnmanagedUpgradeEnded), ContainSubstring("ended as rolled-back; the host runs oci://os:v1: the wanted snapshot did not boot"))))
		Expect(unmanaged(infrav1.InPlaceUpgradeRolledBack)).To(Equal(before + 1))

		By("triggering it again, before the agent has forgotten the first run")
		apiserver.Change(ctx, server.Client, h, func() { h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending })
		Expect(attemptOf(h)).To(Equal(idOf("2")))
		Consistently(server.Stored(ctx, h)).Should(HaveField("Labels", HaveKeyWithValue(infrav1.InPlaceUpgradeLabel, "pending")),
			"the end of the first run is not that of the second")
		apiserver.ChangeStatus(ctx, server.Client, h, func() {
			reported(idOf("2"), infrav1.HostUpgradeSucceeded)(h)
			h.Status.OS = infrav1.HostOS{ImageURI: "oci://os:v2", Digest: "sha256:2"}
		})
		Eventually(server.Stored(ctx, h)).Should(HaveField("Annotations", HaveKeyWithValue(infrav1.ManualUpgradesAnnotation, "2")))

		By("the agent forgetting it, after which it is still known to have been by hand")
		apiserver.ChangeStatus(ctx, server.Client, h, func() { h.Status.Upgrade = nil })
		Eventually(server.Stored(ctx, h)).Should(apiserver.HaveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionTrue, infrav1.UnmanagedReason))
		Expect(attemptOf(h)).To(BeEmpty())
	})

	It("does not trip over a count that is none", func(ctx SpecContext) {
		h := makeHost(ctx, byHand, bootstrapped, func(h *infrav1.ElementalHost) {
			h.Annotations = map[string]string{infrav1.ManualUpgradesAnnotation: "many"}
		})
		Expect(attemptOf(h)).To(Equal(idOf("1")))
		apiserver.ChangeStatus(ctx, server.Client, h, func() { reported(idOf("1"), infrav1.HostUpgradeFailed)(h) })
		Eventually(server.Stored(ctx, h)).Should(HaveField("Annotations", HaveKeyWithValue(infrav1.ManualUpgradesAnnotation, "1")))
	})
})

var _ = Describe("A new host", func() {
	It("is announced, once", func(ctx SpecContext) {
		h := makeHost(ctx, func(h *infrav1.ElementalHost) {
			h.Spec.Approved, h.Spec.PubKey = false, publicKey
			h.Annotations = map[string]string{infrav1.RegistrationNameAnnotation: "racks"}
		})
		Eventually(eventsOf(ctx, h)).Should(Equal([]string{
			infrav1.EventHostRegistered + ": The host has registered through ElementalRegistration racks and waits for spec.approved; " +
				"the fingerprint of its key: " + fingerprint,
		}))
		Eventually(server.Stored(ctx, h)).Should(SatisfyAll(
			HaveField("Status.KeyFingerprint", fingerprint),
			WithTransform(func(h *infrav1.ElementalHost) string { return conditions.GetMessage(h, infrav1.ApprovedCondition) },
				ContainSubstring("has to show the key "+fingerprint)),
		))
		apiserver.Change(ctx, server.Client, h, func() { h.Spec.Approved = true })
		Consistently(eventsOf(ctx, h)).Should(HaveLen(1))
	})

	DescribeTable("is in one state",
		func(ctx SpecContext, change func(*infrav1.ElementalHost), state string) {
			h := makeHost(ctx, change)
			Expect(host.Gauges()[0].Count(ctx, client.NewNamespacedClient(server.Client, h.Namespace))).To(Equal(map[string]int{state: 1}))
			Expect(host.Gauges()[0].Values).To(ContainElement(state))
		},
		Entry(nil, func(*infrav1.ElementalHost) {}, "Free"),
		Entry(nil, func(h *infrav1.ElementalHost) { h.Spec.Approved = false }, "Unapproved"),
		Entry(nil, func(h *infrav1.ElementalHost) { h.Status.Installed = false }, "Installing"),
		Entry(nil, serves, "Bootstrapping"),
		Entry(nil, func(h *infrav1.ElementalHost) { serves(h); h.Status.Bootstrapped = true }, "Serving"),
		Entry(nil, func(h *infrav1.ElementalHost) { serves(h); byHand(h) }, "Upgrading"),
		Entry(nil, func(h *infrav1.ElementalHost) { reported("a1", infrav1.HostUpgradeAssessing)(h) }, "Upgrading"),
		Entry(nil, func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true }, "Stray"),
		Entry(nil, func(h *infrav1.ElementalHost) { h.Labels[infrav1.NeedsResetLabel] = "true" }, "Resetting"),
	)
})

func serves(h *infrav1.ElementalHost) { h.Spec.MachineRef = &infrav1.LocalReference{Name: "m1"} }
