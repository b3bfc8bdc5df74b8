// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// observed matches a host whose conditions are of a generation. A deletion makes another one.
func observed(generation int64) OmegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(HaveField("Type", clusterv1.ReadyCondition), HaveField("ObservedGeneration", generation))))
}

var _ = Describe("A host that is asked for an attempt", func() {
	It("has no conditions written because it is asked for an attempt, and has them of its generation when that is withdrawn", func(ctx SpecContext) {
		host := makeHost(ctx)
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Eventually(settled(host)).WithPolling(apiserver.Settling).Should(BeTrue())
		former := server.Stored(ctx, host)
		Expect(former()).To(observed(host.Generation))

		before := host.Generation
		apiserver.Change(ctx, server.Client, host, func() { host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a1"} })
		Expect(host.Generation).NotTo(Equal(before))
		Consistently(server.Stored(ctx, host)).Should(observed(before))

		By("what they say does change")
		apiserver.Change(ctx, server.Client, host, func() { host.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") })
		Eventually(server.Stored(ctx, host)).Should(And(observed(host.Generation),
			apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason)))

		apiserver.Change(ctx, server.Client, host, func() { host.Spec.Upgrade = nil })
		Eventually(server.Stored(ctx, host)).Should(observed(host.Generation))
	})
})
