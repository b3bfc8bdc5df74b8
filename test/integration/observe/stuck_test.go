// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// templates is what an operator sees of them.
func templates(ctx context.Context) func() (string, error) {
	return func() (string, error) {
		return theLab.Kubectl(ctx, "--namespace", cluster.Namespace(), "get", "elementalmachinetemplates", scenario.Template)
	}
}

// blocked is column BLOCKED of the workers' template.
func blocked(ctx context.Context) func() (string, error) {
	return func() (string, error) {
		return theLab.Kubectl(ctx, "--namespace", cluster.Namespace(), "get", "elementalmachinetemplate", scenario.Template, "--output", "jsonpath={.status.holds[0].message}")
	}
}

// seesWhatIsStuck has rollouts wait for a user, one after the other, and returns the image of the last.
func seesWhatIsStuck(ctx context.Context) image.Image {
	GinkgoHelper()
	Eventually(blocked(ctx)).Should(BeEmpty())

	By("a Cluster that is paused")
	pause := func(paused string) {
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "cluster", cluster.Options.Name, "--type", "merge", "--patch", `{"spec":{"paused":`+paused+`}}`)
		Expect(err).NotTo(HaveOccurred())
	}
	pause("true")
	next := suite.Push(ctx, cluster, image.OS{})
	Expect(cluster.PatchImage(ctx, next)).To(Succeed())
	Eventually(templates(ctx)).Should(SatisfyAll(ContainSubstring("BLOCKED"), ContainSubstring("Cluster "+cluster.Options.Name+" is paused")))
	Eventually(happened(ctx, infrav1.EventRolloutBlocked)).Should(ContainElement("ElementalMachineTemplate/" + scenario.Template))
	Eventually(line(ctx)).Should(ContainSubstring("paused, nothing is upgraded"))

	By("a host whose agent is dead")
	names := []string{cluster.HostName(1), cluster.HostName(2)}
	for _, name := range names {
		Expect(theLab.Host(name).StopAgent(ctx)).To(Succeed())
	}
	pause("false")
	Eventually(blocked(ctx)).Should(MatchRegexp(`^Node demo-node-[12]: waiting for the elemental-agent of ElementalHost demo-node-[12] to answer`))
	attempt := &infrav1.ElementalHostUpgrade{}
	Eventually(func() ([]infrav1.ElementalHostUpgrade, error) { return cluster.Attempts(ctx) }).Should(ContainElement(
		And(HaveField("Spec.ImageURI", next.URI()), HaveField("Spec.HostName", names[0]), HaveField("Status.Phase", infrav1.UpgradeProgressing)), attempt))
	Eventually(hostNamed(ctx, attempt.Spec.HostName)).Should(And(
		haveCondition(infrav1.AgentNotRespondingCondition, "True/"+infrav1.RequestNotAnsweredReason), haveCondition("Ready", "False/NotReady")))
	for _, name := range names {
		Expect(theLab.Host(name).StartAgent(ctx)).To(Succeed())
	}
	Expect(cluster.AwaitImage(ctx, next)).To(Succeed())
	Eventually(blocked(ctx)).Should(BeEmpty())
	Eventually(hostNamed(ctx, attempt.Spec.HostName)).Should(And(haveCondition(infrav1.AgentNotRespondingCondition, "none"), haveCondition("Ready", "True/Ready")))

	By("an image that does not exist")
	missing := next
	missing.Ref += "-missing"
	Expect(cluster.PatchImage(ctx, missing)).To(Succeed())
	Eventually(blocked(ctx)).Should(MatchRegexp(`^ElementalHostUpgrade \S+ of Machine \S+ ended as Failed: `))
	Eventually(line(ctx)).Should(MatchRegexp(`^NodesHeld: 0 of 2 nodes on .*-missing, demo-node-[12] failed`))
	good := suite.Push(ctx, cluster, image.OS{})
	Expect(cluster.PatchImage(ctx, good)).To(Succeed())
	Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
	Eventually(blocked(ctx)).Should(BeEmpty())
	return good
}
