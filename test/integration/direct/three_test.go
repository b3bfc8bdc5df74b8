// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
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
		all           = []string{"cp-1", "cp-2", "cp-3", alone}
		cluster       *scenario.Cluster
		before        []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = newStandIn(ctx, "three", template, controlPlanes, alone)
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
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
		Eventually(ends).WithContext(ctx).WithArguments(cluster, bad).Should(Equal(endsOf(all[:1], infrav1.UpgradeRolledBack)))
		Eventually(says).WithContext(ctx).WithArguments(cluster, template, infrav1.RolloutBlockedCondition).
			Should(Equal(said{"True", infrav1.AttemptNotSucceededReason}))
		Consistently(ends, calm).WithContext(ctx).WithArguments(cluster, bad).Should(HaveLen(1))
		for _, other := range all[1:] {
			Expect(specifies(ctx, cluster, other)).NotTo(Equal(bad.URI()), "Machine %s is not touched", other)
		}

		good := rollOut(ctx, image.OS{})
		Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
		Expect(ends(ctx, cluster, good)).To(Equal(endsOf(all, infrav1.UpgradeSucceeded)))
		Expect(ends(ctx, cluster, bad)).To(Equal(endsOf(all[:1], infrav1.UpgradeSuperseded)))
		Expect(audit.Offered(suite.Audit(theLab.Management), bad.URI())).To(ConsistOf(nodeOf(ctx, cluster, all[0])), "no other host was ever asked for it")
	})

	It("go by the stages of an ElementalClusterUpgrade", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.ApplyUpgrade(ctx, "staged", wanted, `  order:
  - {pools: [control-plane], nodes: 1, soakSeconds: 30}
  - {pools: ["*"]}
`)).To(Succeed())
		attempt, err := cluster.AwaitMessage(ctx, wanted, "Admit", "waiting for ElementalClusterUpgrade staged: stage control-plane (nodes: 1) is done, and it soaks until ")
		Expect(err).NotTo(HaveOccurred())
		Expect(attempt.Spec.MachineName).To(Equal(all[1]))
		Expect(ends(ctx, cluster, wanted)).To(HaveLen(2), "the others have no attempt yet")
		Eventually(cluster.Upgrade, 2*specs.Patience).WithContext(ctx).WithArguments("staged").Should(HaveField("Status.Phase", infrav1.ClusterUpgradeSucceeded))
		Expect(ends(ctx, cluster, wanted)).To(Equal(endsOf(all, infrav1.UpgradeSucceeded)))
	})

	It("go on without one whose node is paused, which is upgraded when it is approved", func(ctx SpecContext) {
		const held = "cp-2"
		Expect(cluster.PatchUpgradeOption(ctx, `{"strategy":{"mode":"manual","pauseNodes":["`+nodeOf(ctx, cluster, held)+`"]}}`)).To(Succeed())
		wanted := rollOut(ctx, image.OS{})
		succeeded := endsOf([]string{"cp-1", "cp-3", alone}, infrav1.UpgradeSucceeded)
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

// ends of the attempts for an image, in the order in which they were started. Those of the cluster's pool, which an ElementalClusterUpgrade upgrades as
// well, do not count.
func ends(ctx context.Context, cluster *scenario.Cluster, of image.Image) ([]end, error) {
	attempts, err := cluster.Attempts(ctx)
	found := []end{}
	for i := range attempts {
		if spec := attempts[i].Spec; spec.ImageURI == of.URI() && !strings.HasPrefix(spec.MachineName, scenario.Deployment+"-") {
			found = append(found, end{spec.MachineName, attempts[i].Status.Phase})
		}
	}
	return found, err
}

// nodeOf a Machine.
func nodeOf(ctx context.Context, cluster *scenario.Cluster, name string) string {
	GinkgoHelper()
	machine := &clusterv1.Machine{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: name}, machine)).To(Succeed())
	return machine.Status.NodeRef.Name
}

// specifies is the image that the ElementalMachine of a Machine asks for.
func specifies(ctx context.Context, cluster *scenario.Cluster, name string) string {
	GinkgoHelper()
	machine := &infrav1.ElementalMachine{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: name}, machine)).To(Succeed())
	version, err := osversion.Decode(machine.Spec.OSVersionManagement)
	Expect(err).NotTo(HaveOccurred())
	return version.ImageURI
}
