// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package several_test

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = DescribeTable("MachineDeployments and a control plane that are upgraded at the same time disrupt at most as many nodes as are allowed",
	func(ctx SpecContext, allowed int) {
		allow(ctx, other, allowed)
		goOn := meetWriting(allowed)
		r := begin(ctx, other, map[string]image.Image{
			north:        suite.Push(ctx, cluster, image.OS{UpgradeSeconds: writing}),
			south:        suite.Push(ctx, cluster, image.OS{UpgradeSeconds: writing}),
			controlPlane: suite.Push(ctx, cluster, image.OS{UpgradeSeconds: writing}),
		})
		goOn()
		r.expectDone(ctx)
		r.expectOnce(ctx, north, south, controlPlane)
		cordoned, triggered := r.atOnce(r.nodes()...)
		Expect(cordoned).To(Equal(allowed), "nodes cordoned at a time")
		Expect(triggered).To(Equal(allowed), "hosts told to go at a time")
		cordoned, triggered = r.atOnce(nodesOf(ctx, other, controlPlane)...)
		Expect(cordoned).To(Equal(1), "control plane nodes cordoned at a time")
		Expect(triggered).To(Equal(1), "control plane hosts told to go at a time")
	},
	Entry("one", 1),
	Entry("two", 2),
)

var _ = Describe("Two clusters of one namespace", func() {
	It("have separate slots", func(ctx SpecContext) {
		allow(ctx, cluster, 1)
		allow(ctx, other, 1)
		goOn := meetWriting(2)
		os := suite.Push(ctx, cluster, image.OS{UpgradeSeconds: writing})
		here := begin(ctx, cluster, map[string]image.Image{east: os, west: os})
		there := begin(ctx, other, map[string]image.Image{north: os, south: os})
		goOn()
		for _, r := range []*rollout{here, there} {
			r.expectDone(ctx)
			r.expectOnce(ctx, slices.Collect(maps.Keys(r.desired))...)
			cordoned, triggered := r.atOnce(r.nodes()...)
			Expect(cordoned).To(Equal(1), "nodes of %s cordoned at a time", r.of.Options.Name)
			Expect(triggered).To(Equal(1), "hosts of %s told to go at a time", r.of.Options.Name)
		}
		Expect(audit.MaxOverlap(audit.Triggered(here.events(theLab.Management)))).To(Equal(2), "neither waited for the other")
	})

	It("share a quarantine, until it is lifted where it was set", func(ctx SpecContext) {
		bad, good := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy}), suite.Push(ctx, cluster, image.OS{})
		here := begin(ctx, cluster, map[string]image.Image{east: bad})
		_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Expect(quarantined(ctx, cluster)).To(ContainElement(HaveField("Digest", bad.PlatformDigest)))
		Expect(quarantined(ctx, other)).NotTo(ContainElement(HaveField("Digest", bad.PlatformDigest)))
		there := begin(ctx, other, map[string]image.Image{north: bad})
		held := ContainElement(And(HaveField("Spec.ImageURI", bad.URI()), HaveField("Status.Phase", infrav1.UpgradeProgressing),
			HaveField("Status.Message", ContainSubstring("is quarantined by ElementalCluster "+cluster.Options.Name+" because"))))
		Eventually(other.Attempts, patience, look).WithContext(ctx).Should(held)
		here.patch(ctx, map[string]image.Image{east: good})
		here.expectDone(ctx)
		Expect(other.Attempts(ctx)).To(held)
		Expect(only(there.nodes(), audit.Triggered(there.events(theLab.Management)))).To(BeEmpty())

		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalcluster", cluster.Options.Name, "--type", "merge", "--patch", `{"spec":{"quarantine":null}}`)
		Expect(err).NotTo(HaveOccurred())
		_, err = other.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred(), "it tries the image itself")
		there.patch(ctx, map[string]image.Image{north: good})
		there.expectDone(ctx)
	})
})

// meetWriting makes the first hosts that write an image wait for one another, so that they write concurrently however
// busy the machine is. The returned function waits until that many have met, and releases all of them.
func meetWriting(hosts int) (goOn func()) {
	GinkgoHelper()
	held := suite.HoldHosts(theLab, infrav1.HostUpgradeApplying)
	return func() {
		GinkgoHelper()
		Eventually(held.Stopped, patience, look).WithArguments(infrav1.HostUpgradeApplying).Should(Equal(hosts))
		held.Release(infrav1.HostUpgradeApplying)
	}
}

// quarantined are the images that a cluster offers to no further hosts.
func quarantined(ctx context.Context, of *scenario.Cluster) []infrav1.QuarantinedImage {
	GinkgoHelper()
	owner := &infrav1.ElementalCluster{}
	Expect(theLab.Kube.Get(ctx, keyOf(of, of.Options.Name), owner)).To(Succeed())
	return owner.Spec.Quarantine
}
