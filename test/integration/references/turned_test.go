// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// Templates are rotated by hand at moments at which Cluster API deletes a Machine.
var _ = Describe("A reference that is changed at the wrong moment", func() {
	It("deletes no Machine on the way from bad to good and back to bad (finding 7a)", func(ctx SpecContext) {
		atRest(ctx)
		bad, good := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy}), suite.Push(ctx, cluster, image.OS{})
		toBad, toGood := newTemplate(ctx, bad), newTemplate(ctx, good)
		Expect(pointTo(ctx, toBad)).To(Succeed())
		_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())

		release := holdWriting() // no rollout completes before all of these changes
		Expect(pointTo(ctx, toGood)).To(Succeed())
		denials := 0
		for _, template := range []string{toBad, toGood, toBad, toGood} {
			if err := pointTo(ctx, template); err != nil {
				Expect(err).To(MatchError(ContainSubstring("infrastructureRef cannot be changed now")))
				denials++
			}
		}
		Expect(denials).To(BeNumerically(">", 0), "the guard was asked at a wrong moment")
		release()
		Eventually(pointTo, specs.Patience, time.Second).WithContext(ctx).WithArguments(toGood).Should(Succeed())
		reaches(ctx, good)
	})

	It("deletes no Machine when references change within seconds of one another (finding 7b)", func(ctx SpecContext) {
		atRest(ctx)
		var last image.Image
		for range 3 {
			last = suite.Push(ctx, cluster, image.OS{})
			Eventually(pointTo).WithContext(ctx).WithArguments(newTemplate(ctx, last)).Should(Succeed())
		}
		reaches(ctx, last)
	})

	It("returns to the original template while a Machine waits, without an upgrade (finding 11)", func(ctx SpecContext) {
		original, former := atRest(ctx), running
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(pointTo(ctx, newTemplate(ctx, bad))).To(Succeed())
		_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())

		before := upgrades()
		Eventually(pointTo).WithContext(ctx).WithArguments(original).Should(Succeed())
		Eventually(madeFrom).WithContext(ctx).Should(HaveEach(original))
		reaches(ctx, former)
		Expect(upgrades()).To(Equal(before), "the host that fell back runs the original image")
		Eventually(upToDate).WithContext(ctx).Should(HaveEach("True"))
	})
})
