// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A change that cannot be made in place", func() {
	// Cluster API propagates a Machine's nodeDrainTimeout and the like without a rollout; but not a
	// change of the bootstrap configuration.
	bootstrapFrom := func(ctx context.Context, name string) {
		GinkgoHelper()
		patch := strings.ReplaceAll(`{"spec":{"template":{"spec":{"bootstrap":{"configRef":{"name":"NAME"}}}}}}`, "NAME", name)
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "machinedeployment", scenario.Deployment, "--type", "merge", "--patch", patch)
		Expect(err).NotTo(HaveOccurred())
	}

	It("is refused with an event that names the fields, and blocks nothing once it is reverted (finding 8)", func(ctx SpecContext) {
		template := atRest(ctx)
		Expect(cluster.ApplyManifest(ctx, "bootstrap-changed.yaml.tmpl")).To(Succeed())
		bootstrapFrom(ctx, "workers-changed")
		Eventually(told).WithContext(ctx).WithArguments(infrav1.EventInPlaceRefused).
			Should(ContainElement(ContainSubstring("KubeadmConfigTemplate")))
		Consistently(cluster.Machines, calm).WithContext(ctx).Should(HaveLen(len(workers)))
		expectKept(ctx)

		bootstrapFrom(ctx, scenario.Deployment)
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		reaches(ctx, wanted)
	})
})
