// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// Two of three members of etcd are a majority: nobody has to consent to anything.
var _ = Describe("Three Machines of a K3s control plane, and one of nobody", Ordered, func() {
	const (
		template = "three"
		alone    = "a-worker" // by its name it would be the first
	)
	var (
		controlPlanes = []string{"cp-1", "cp-2", "cp-3"}
		all           []string // in the order of their upgrades
		cluster       *scenario.Cluster
		before        []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = newStandIn(ctx, "three", template, controlPlanes, alone)
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		all = append(byNode(ctx, cluster, controlPlanes), alone)
	})
	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before))
		Expect(audit.MaxOverlap(audit.Cordons(suite.Audit(cluster.Workload())))).To(Equal(1), "one node at a time")
	})
	rollOut := func(ctx context.Context, os image.OS) image.Image {
		GinkgoHelper()
		wanted := suite.Push(ctx, cluster, os)
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		return wanted
	}

	It("are upgraded one after the other, control planes first", func(ctx SpecContext) {
		wanted := rollOut(ctx, image.OS{})
		Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
		Expect(ends(ctx, cluster, wanted)).To(Equal(endsOf(all, infrav1.UpgradeSucceeded)))
	})

	It("stop at the first that falls back from a bad image, and go on with the next image", func(ctx SpecContext) {
		bad := rollOut(ctx, image.OS{Boot: source.BootUnhealthy})
		stopped := append(endsOf(all[:1], infrav1.UpgradeRolledBack), endsOf(all[1:], infrav1.UpgradeProgressing)...)
		Eventually(ends).WithContext(ctx).WithArguments(cluster, bad).Should(Equal(stopped))
		Eventually(says).WithContext(ctx).WithArguments(cluster, template, infrav1.RolloutBlockedCondition).
			Should(Equal(said{"True", infrav1.AttemptNotSucceededReason}))
		triggered := countTriggers()
		Consistently(ends, calm).WithContext(ctx).WithArguments(cluster, bad).Should(Equal(stopped))
		Expect(countTriggers()).To(Equal(triggered), "no other host is triggered")
		_, err := cluster.AwaitMessage(ctx, bad, "Preflight", "is quarantined because it failed")
		Expect(err).NotTo(HaveOccurred())

		good := rollOut(ctx, image.OS{})
		Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
		Expect(ends(ctx, cluster, good)).To(Equal(endsOf(all, infrav1.UpgradeSucceeded)))
		Expect(ends(ctx, cluster, bad)).To(Equal(endsOf(all, infrav1.UpgradeSuperseded)))
	})

	It("go by the stages of an ElementalClusterUpgrade", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.ApplyUpgrade(ctx, "staged", wanted, `  order:
  - {pools: [control-plane], nodes: 1, soakSeconds: 30}
  - {pools: ["*"]}
`)).To(Succeed())
		_, err := cluster.AwaitMessage(ctx, wanted, "Admit", "waiting for ElementalClusterUpgrade staged: stage control-plane (nodes: 1) is done, and it soaks until ")
		Expect(err).NotTo(HaveOccurred())
		Expect(ends(ctx, cluster, wanted)).To(ContainElement(end{all[0], infrav1.UpgradeSucceeded}), "the canary is the first by name")
		Eventually(cluster.Upgrade, 2*specs.Patience).WithContext(ctx).WithArguments("staged").Should(HaveField("Status.Phase", infrav1.ClusterUpgradeSucceeded))
		Expect(ends(ctx, cluster, wanted)).To(Equal(endsOf(all, infrav1.UpgradeSucceeded)))
	})

	It("go on without one whose node is paused, which is upgraded when it is approved", func(ctx SpecContext) {
		held := all[1]
		Expect(cluster.PatchUpgradeOption(ctx, `{"strategy":{"mode":"Manual","pauseNodes":["`+nodeOf(ctx, cluster, held)+`"]}}`)).To(Succeed())
		wanted := rollOut(ctx, image.OS{})
		succeeded := endsOf([]string{all[0], all[2], alone}, infrav1.UpgradeSucceeded)
		Eventually(ends, 2*specs.Patience).WithContext(ctx).WithArguments(cluster, wanted).Should(ConsistOf(append(succeeded, end{held, infrav1.UpgradeProgressing})))
		attempt, err := cluster.AwaitMessage(ctx, wanted, "Approve", "paused")
		Expect(err).NotTo(HaveOccurred())
		Expect(attempt.Spec.MachineName).To(Equal(held))
		Consistently(says, calm).WithContext(ctx).WithArguments(cluster, template, infrav1.RolledOutCondition).
			Should(Equal(said{"False", infrav1.MachinesNotUpToDateReason}))

		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalhostupgrade", attempt.Name, "--type", "merge", "--patch", `{"spec":{"approved":true}}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
		Expect(ends(ctx, cluster, wanted)).To(ConsistOf(append(succeeded, end{held, infrav1.UpgradeSucceeded})))
	})
})

// end is where the attempt on a Machine is.
type end struct {
	Machine string
	Phase   infrav1.UpgradePhase
}

func endsOf(machines []string, phase infrav1.UpgradePhase) []end {
	all := []end{}
	for _, machine := range machines {
		all = append(all, end{machine, phase})
	}
	return all
}

// ends of the attempts for an image, in the order in which their nodes were cordoned, and then of the others in the order of their nodes. Those of the cluster's
// pool, which an ElementalClusterUpgrade upgrades as well, do not count.
func ends(ctx context.Context, cluster *scenario.Cluster, of image.Image) ([]end, error) {
	all, err := cluster.Attempts(ctx)
	all = slices.DeleteFunc(all, func(u infrav1.ElementalHostUpgrade) bool {
		return u.Spec.ImageURI != of.URI() || strings.HasPrefix(u.Spec.MachineName, scenario.Deployment+"-")
	})
	slices.SortFunc(all, func(a, b infrav1.ElementalHostUpgrade) int {
		return cmp.Or(cordonedAt(&a).Compare(cordonedAt(&b)), attempts.InOrder(&a, &b))
	})
	found := []end{}
	for i := range all {
		found = append(found, end{all[i].Spec.MachineName, all[i].Status.Phase})
	}
	return found, err
}

// cordonedAt is when the node of an attempt was cordoned; far in the future if it was not.
func cordonedAt(attempt *infrav1.ElementalHostUpgrade) time.Time {
	for _, step := range attempt.Status.Steps {
		if step.Name == attempts.StepCordon {
			return step.StartTime.Time
		}
	}
	return attempt.CreationTimestamp.Add(specs.Patience * 100)
}

// byNode sorts Machines by the names of their Nodes.
func byNode(ctx context.Context, cluster *scenario.Cluster, machines []string) []string {
	GinkgoHelper()
	return slices.SortedFunc(slices.Values(machines), func(a, b string) int { return cmp.Compare(nodeOf(ctx, cluster, a), nodeOf(ctx, cluster, b)) })
}

// nodeOf a Machine.
func nodeOf(ctx context.Context, cluster *scenario.Cluster, name string) string {
	GinkgoHelper()
	machine := &clusterv1.Machine{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: name}, machine)).To(Succeed())
	return machine.Status.NodeRef.Name
}
