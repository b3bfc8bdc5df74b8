// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// A patched template is rolled out by this provider, and a rotation by Cluster API. No host is rebooted for an OS that its owner does not want any more.
var _ = Describe("A patch of a template and a rotation to another", func() {
	It("follow one another: the rotation is refused while a host is upgraded for the patch", func(ctx SpecContext) {
		template := atRest(ctx)
		patched, rotated := suite.Push(ctx, cluster, image.OS{}), suite.Push(ctx, cluster, image.OS{})
		release := holdWriting()
		Expect(cluster.PatchPool(ctx, template, patched)).To(Succeed())
		attempt := writing(ctx, patched)
		to := newTemplate(ctx, rotated)
		Expect(pointTo(ctx, to)).To(MatchError(And(ContainSubstring("cannot be changed now"), ContainSubstring(attempt.Name))))
		release()
		reaches(ctx, patched)
		Eventually(pointTo).WithContext(ctx).WithArguments(to).Should(Succeed())
		reaches(ctx, rotated)
		expectOneAttemptEach(ctx, patched)
	})

	It("do not compete: a patch of the former template in the middle of the rotation starts nothing", func(ctx SpecContext) {
		template := atRest(ctx)
		patched, rotated := suite.Push(ctx, cluster, image.OS{}), suite.Push(ctx, cluster, image.OS{})
		_, release := begin(ctx, rotated)
		Expect(cluster.PatchPool(ctx, template, patched)).To(Succeed())
		Consistently(attemptFor, calm).WithContext(ctx).WithArguments(patched).Should(HaveField("Name", BeEmpty()))
		release()
		reaches(ctx, rotated)
		Expect(attemptFor(ctx, patched)).To(HaveField("Name", BeEmpty()))
		expectOneAttemptEach(ctx, rotated)
	})

	It("are both ways out of a bad image: a patch of the template that was rotated to", func(ctx SpecContext) {
		atRest(ctx)
		bad, good := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy}), suite.Push(ctx, cluster, image.OS{})
		to := rotate(ctx, bad)
		_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.PatchPool(ctx, to, good)).To(Succeed())
		reaches(ctx, good)
		Eventually(upToDate).WithContext(ctx).Should(HaveEach("True"))
	})

	It("are both ways out of a bad image: a rotation from the template that was patched", func(ctx SpecContext) {
		template := atRest(ctx)
		bad, good := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy}), suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, bad)).To(Succeed())
		_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		rotate(ctx, good)
		reaches(ctx, good)
		Eventually(upToDate).WithContext(ctx).Should(HaveEach("True"))
	})
})

// expectOneAttemptEach asserts that each host was upgraded to an image once.
func expectOneAttemptEach(ctx SpecContext, os image.Image) {
	GinkgoHelper()
	hosts := []string{}
	for _, worker := range workers {
		hosts = append(hosts, worker.Node)
	}
	Expect(cluster.Attempts(ctx)).To(WithTransform(hostsOf(os), ConsistOf(hosts)))
}
