// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("A host for which a ManagedOSVersion is named", func() {
	named := func(h *infrav1.ElementalHost) {
		// As `kubectl patch --type=merge` leaves it.
		h.Spec.OSVersionManagement = specs.OS(`{"imageUri":"oci://os:v1","managedOSVersionName":"v2"}`)
	}

	It("gets its image, and is told to upgrade to it at once", func(ctx SpecContext) {
		host := makeHost(ctx)
		Expect(server.Client.Create(ctx, elementaloperator.ManagedOSVersion(host.Namespace, "v2", "container", "oci://os:v2"))).To(Succeed())
		apiserver.Change(ctx, server.Client, host, func() { named(host) })
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.WaitingForOSReconcileReason))
		Expect(host.Spec.OSVersionManagement.OSVersion).To(
			Equal(&infrav1.OSVersion{ImageURIOfOperator: "oci://os:v2", ManagedOSVersionName: "v2", ResolvedFrom: "v2"}))
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
		host := makeHost(ctx, named, func(h *infrav1.ElementalHost) { h.Spec.MachineRef = &infrav1.LocalReference{Name: "m1"} })
		Expect(server.Client.Create(ctx, elementaloperator.ManagedOSVersion(host.Namespace, "v2", "container", "oci://os:v2"))).To(Succeed())
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement.OSVersion", Not(BeNil())))
		Expect(host.Spec.OSVersionManagement.OSVersion.Image()).To(Equal("oci://os:v1"))
	})
})
