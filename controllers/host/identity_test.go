// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// publicKey is that of RFC 8032's first test vector, and fingerprint what openssl makes of it; see wire.KeyFingerprint.
const (
	publicKey   = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
	fingerprint = "SHA256:BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k"
)

var _ = Describe("A host", func() {
	It("is told from a copy of itself by a boot that comes back, until the one that is left boots again", func(ctx SpecContext) {
		h := makeHost(ctx)
		boots := func(ids ...string) { apiserver.ChangeStatus(ctx, server.Client, h, func() { h.Status.BootIDs = ids }) }
		twice := func() (*metav1.Condition, error) {
			err := server.Client.Get(ctx, client.ObjectKeyFromObject(h), h)
			return conditions.Get(h, infrav1.IdentityInUseTwiceCondition), err
		}
		boots("b", "a")
		Consistently(twice).Should(BeNil())
		boots("c", "b", "a")
		Consistently(twice).Should(BeNil())
		boots("b", "c", "b")
		Eventually(twice).Should(SatisfyAll(HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring("in the boots b and c"))))
		Eventually(eventsOf(ctx, h)).Should(ContainElement(HavePrefix(infrav1.EventIdentityInUseTwice + ": Two machines")))
		boots("d", "b", "c")
		Eventually(twice).Should(BeNil())
	})

	It("tells of a work directory that is lost with the next reboot, until it is another", func(ctx SpecContext) {
		h := makeHost(ctx)
		volatile := func() (*metav1.Condition, error) {
			err := server.Client.Get(ctx, client.ObjectKeyFromObject(h), h)
			return conditions.Get(h, infrav1.WorkDirVolatileCondition), err
		}
		apiserver.ChangeStatus(ctx, server.Client, h, func() { h.Status.Agent.VolatileWorkDir = "/var/lib/elemental/agent is on /var (tmpfs)" })
		Eventually(volatile).Should(SatisfyAll(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", infrav1.LostWithRebootReason),
			HaveField("Message", HaveSuffix("and is not upgraded: /var/lib/elemental/agent is on /var (tmpfs)"))))
		apiserver.ChangeStatus(ctx, server.Client, h, func() { h.Status.Agent.VolatileWorkDir = "" })
		Eventually(volatile).Should(BeNil())
	})

	It("has a condition while its agent is of version 0.7, and its facts stay on its labels", func(ctx SpecContext) {
		h := makeHost(ctx, func(h *infrav1.ElementalHost) {
			h.Labels[infrav1.InstalledLabel], h.Labels[infrav1.BootstrappedLabel] = "true", "true"
			h.Status = infrav1.ElementalHostStatus{Phase: infrav1.HostPhaseRunning}
		})
		outdated := func() (*metav1.Condition, error) {
			err := server.Client.Get(ctx, client.ObjectKeyFromObject(h), h)
			return conditions.Get(h, infrav1.AgentOutdatedCondition), err
		}
		Eventually(server.Stored(ctx, h)).Should(apiserver.HaveCondition(infrav1.InstallationReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Expect(outdated()).To(BeNil())
		apiserver.ChangeStatus(ctx, server.Client, h, func() { h.Status.Agent = infrav1.HostAgent{Version: "v0.7.0", Outdated: true} })
		Eventually(outdated).Should(SatisfyAll(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", infrav1.AgentNotSupportedReason),
			HaveField("Message", HavePrefix("The host runs elemental-agent v0.7.0, whose requests are refused"))))
		Expect(h.Labels).To(SatisfyAll(HaveKeyWithValue(infrav1.InstalledLabel, "true"), HaveKeyWithValue(infrav1.BootstrappedLabel, "true")))
		apiserver.ChangeStatus(ctx, server.Client, h, func() { h.Status.Agent, h.Status.Installed = infrav1.HostAgent{Version: "v0.8.0"}, true })
		Eventually(outdated).Should(BeNil())
		Expect(h.Labels).To(HaveKeyWithValue(infrav1.InstalledLabel, "true"))
	})

	It("of version 0.7 is adopted: its registration, which owned it, is on an annotation, and is deleted without it", func(ctx SpecContext) {
		h := makeHost(ctx, func(h *infrav1.ElementalHost) {
			h.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: infrav1.GroupVersion.String(), Kind: "ElementalRegistration", Name: "edge", UID: "u-1", Controller: ptr.To(true)},
				{APIVersion: "example.com/v1", Kind: "ElementalRegistration", Name: "another", UID: "u-2"},
			}
		})
		Eventually(server.Stored(ctx, h)).Should(HaveField("Annotations", SatisfyAll(
			HaveKeyWithValue(infrav1.RegistrationNameAnnotation, "edge"), HaveKeyWithValue(infrav1.RegistrationNamespaceAnnotation, h.Namespace))))
		Expect(h.OwnerReferences).To(ConsistOf(HaveField("Name", "another")))
	})
})
