// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// Cluster API considers a Machine updated when the mark is removed, and continues with the next.
var _ = Describe("The mark update-in-progress, removed from a Machine by hand (finding 15)", func() {
	// forget removes the mark from the Machine of an attempt.
	forget := func(ctx context.Context, attempt *infrav1.ElementalHostUpgrade) {
		GinkgoHelper()
		machine, err := machineOf(ctx, attempt)
		Expect(err).NotTo(HaveOccurred())
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, clusterv1.UpdateInProgressAnnotation)
		Expect(cluster.Lab.Kube.Patch(ctx, machine, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		Expect(machine.Annotations).NotTo(HaveKey(clusterv1.UpdateInProgressAnnotation))
	}
	marked := HaveField("Annotations", HaveKey(clusterv1.UpdateInProgressAnnotation))

	It("is restored while the attempt runs, which completes", func(ctx SpecContext) {
		atRest(ctx)
		before, wanted := upgrades(), suite.Push(ctx, cluster, image.OS{})
		attempt, release := begin(ctx, wanted)
		forget(ctx, attempt)
		Expect(upToDate(ctx)).To(HaveKeyWithValue(attempt.Spec.HostName, "False/"+infrav1.UpgradeInProgressReason))
		Eventually(machineOf).WithContext(ctx).WithArguments(attempt).Should(marked)
		release()
		reaches(ctx, wanted)
		for host, count := range upgrades() {
			Expect(count).To(Equal(before[host]+1), "elemental upgrade runs once on host "+host)
		}
	})

	It("is restored on a Machine whose host fell back, which reports it", func(ctx SpecContext) {
		atRest(ctx)
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		rotate(ctx, bad)
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		forget(ctx, attempt)
		Eventually(upToDate).WithContext(ctx).Should(HaveKeyWithValue(attempt.Spec.HostName, "False/"+infrav1.HostRunsOtherOSReason))
		Eventually(machineOf).WithContext(ctx).WithArguments(attempt).Should(marked)

		By("continuing with a good image")
		good := suite.Push(ctx, cluster, image.OS{})
		rotate(ctx, good)
		reaches(ctx, good)
	})
})
