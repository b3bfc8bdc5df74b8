// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A window of an ElementalClusterUpgrade", func() {
	It("is what nodes start in, whose hosts have fetched the image before", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		soon := time.Now().UTC().Add(2 * time.Hour)
		closed := fmt.Sprintf("  windows:\n  - {schedule: \"%d %d * * *\", durationSeconds: 60}\n", soon.Minute(), soon.Hour())
		Expect(apply(ctx, "window", wanted, closed)).To(Succeed())
		Eventually(status).WithContext(ctx).WithArguments("window").Should(And(
			HaveField("Message", HavePrefix("no window is ")), HaveField("NextWindow", Not(BeNil()))))
		Expect(fetched(ctx, wanted)).To(HaveLen(all))
		Consistently(begun, calm).WithContext(ctx).WithArguments(wanted).Should(BeEmpty())

		By("opening a window that is long enough")
		Expect(patch(ctx, "window", `{"windows":[{"schedule":"0 * * * *","durationSeconds":7200}]}`)).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("window").Should(Equal(infrav1.ClusterUpgradeSucceeded))
	})

	It("that closes in the middle lets the node in work be finished, and holds the next one until it opens again", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		By("holding the last pool, so that nodes are left when it closes")
		pause := func(ctx context.Context, mark string) error {
			_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "annotate", "elementalmachinetemplate", cluster.TemplateOf(poolB), clusterv1.PausedAnnotation+mark)
			return err
		}
		Expect(pause(ctx, "=")).To(Succeed())
		Expect(apply(ctx, "closes", wanted, "")).To(Succeed())
		Eventually(begun).WithContext(ctx).WithArguments(wanted).Should(Not(BeEmpty()))

		By("having it close at the end of the minute")
		now := time.Now().UTC()
		Expect(patch(ctx, "closes", fmt.Sprintf(`{"windows":[{"schedule":"%d %d * * *","durationSeconds":60}]}`, now.Minute(), now.Hour()))).To(Succeed())
		Eventually(status).WithContext(ctx).WithArguments("closes").Should(And(
			HaveField("Phase", infrav1.ClusterUpgradeProgressing), HaveField("Message", HavePrefix("no window is ")), HaveField("NextWindow", Not(BeNil()))))
		inTime, err := begun(ctx, wanted)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(inTime)).To(And(BeNumerically(">", 0), BeNumerically("<", all)))
		Eventually(status).WithContext(ctx).WithArguments("closes").Should(
			HaveField("NodesDone", HaveValue(BeEquivalentTo(len(inTime)))), "those that were begun are finished")
		Consistently(begun, calm).WithContext(ctx).WithArguments(wanted).Should(Equal(inTime), "no other one begins")

		By("opening it again")
		Expect(pause(ctx, "-")).To(Succeed())
		Expect(patch(ctx, "closes", `{"windows":[{"schedule":"0 * * * *","durationSeconds":7200}]}`)).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("closes").Should(Equal(infrav1.ClusterUpgradeSucceeded))
		awaitAll(ctx, wanted)
		Expect(begun(ctx, wanted)).To(HaveLen(all), "each node once")
	})
})
