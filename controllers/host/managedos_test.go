// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
)

var _ = Describe("A host for which a ManagedOSVersion is named", func() {
	named := func(h *infrav1.ElementalHost) {
		// As `kubectl patch --type=merge` leaves it.
		h.Spec.OSVersionManagement = infrav1.OSVersionManagement{
			infrav1.OSVersionKey: {Raw: []byte(`{"imageUri":"oci://os:v1","managedOSVersionName":"v2"}`)},
		}
	}

	It("gets its image, and is told to upgrade to it at once", func(ctx SpecContext) {
		host := makeHost(ctx)
		Expect(server.Client.Create(ctx, elementaloperator.ManagedOSVersion(host.Namespace, "v2", "container", "oci://os:v2"))).To(Succeed())
		apiserver.Change(ctx, server.Client, host, func() { named(host) })
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.WaitingForOSReconcileReason))
		Expect(host.Spec.OSVersionManagement[infrav1.OSVersionKey].Raw).To(
			MatchJSON(`{"imageUri":"oci://os:v2","managedOSVersionName":"v2","resolvedFrom":"v2"}`))
		Expect(hostapi.Desired(host).Upgrade).To(HaveField("Apply", true))
	})

	It("is upgraded to nothing while there is no such version, not even by hand", func(ctx SpecContext) {
		host := makeHost(ctx, named, func(h *infrav1.ElementalHost) {
			h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
		})
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.ManagedOSVersionNotFoundReason))
		Expect(hostapi.Desired(host).Upgrade).To(BeNil())
	})

	It("has its OS from its machine when it serves one", func(ctx SpecContext) {
		host := makeHost(ctx, named, func(h *infrav1.ElementalHost) { h.Spec.MachineRef = &corev1.ObjectReference{Name: "m1"} })
		Expect(server.Client.Create(ctx, elementaloperator.ManagedOSVersion(host.Namespace, "v2", "container", "oci://os:v2"))).To(Succeed())
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement", Not(BeNil())))
		Expect(host.Spec.OSVersionManagement[infrav1.OSVersionKey].Raw).NotTo(ContainSubstring("os:v2"))
	})
})
