// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("An attempt that a person", func() {
	DescribeTable("deletes is recreated, or completed", func(ctx SpecContext, at moment) {
		u := newUpgrade(ctx, image.OS{})
		goOn := u.startUntil(ctx, at)
		u.kubectl(ctx, "delete", "--wait=false")
		goOn()
		u.expectSucceeded(ctx)
		// One that the host had begun is deleted when it has ended; it is not recreated, because the host
		// runs the image then.
		Eventually(u.phases).WithContext(ctx).Should(Or(BeEmpty(), ConsistOf(infrav1.UpgradeSucceeded)))
	},
		Entry("in Drain", draining),
		Entry("in Trigger", triggered),
		Entry("while the image is written", applying),
	)

	DescribeTable("cancels reverts its marks, and is recreated when it is deleted", func(ctx SpecContext, at moment) {
		u := newUpgrade(ctx, image.OS{})
		release := u.startUntil(ctx, at)
		u.set(ctx, "cancel")
		Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Phase", infrav1.UpgradeAborted))
		Eventually(u.marks).WithContext(ctx).Should(Equal(scenario.Marks{}))
		Eventually(u.says).WithContext(ctx).Should(ContainSubstring("Aborted: aborted by spec.cancel"))
		u.expectUntouched()

		release()
		u.kubectl(ctx, "delete")
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	},
		Entry("in Drain", draining),
	)

	DescribeTable("loses with its Machine ends, and the host is available again", func(ctx SpecContext, at moment, writes int) {
		u := newUpgrade(ctx, image.OS{})
		goOn := u.startUntil(ctx, at)
		suite.DeleteMachine(ctx, cluster)
		goOn()
		suite.ExpectReplaced(ctx, cluster, u.before, u.wanted)
		suite.ExpectOneServes(ctx, cluster)
		Eventually(cluster.Nodes).WithContext(ctx).Should(HaveLen(2), "the Node of the former Machine is gone")
		finished, _ := suite.Writes(u.host, u.began)
		Expect(finished).To(Equal(writes), "what was begun is brought to its end, and nothing else is begun")
	},
		Entry("in Drain", draining, 0),
		Entry("while the image is written", applying, 1),
	)
})
