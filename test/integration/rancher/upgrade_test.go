// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	controlPlanes = "control-plane"
	// calm is for how long something must not happen.
	calm = 5 * time.Second
)

// withHooks are drain options by which Rancher asks this provider.
var withHooks = rancher.DrainOptions{Enabled: true, GracePeriod: -1}.
	WithHooks(infrav1.RancherPreDrainAnnotation, infrav1.RancherPostDrainAnnotation)

var _ = Describe("The OS within Rancher's drain", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{
			Name: "hooked", Rancher: true, ControlPlane: 1, Workers: 2, DrainOptions: withHooks,
		})
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before))
		Expect(marksLeft(ctx, cluster)).To(BeEmpty())
	})
	roll := func(ctx context.Context) {
		GinkgoHelper()
		_, err := theLab.Rancher.RaiseProvisionGeneration(ctx, cluster.RancherKey())
		Expect(err).NotTo(HaveOccurred())
	}
	patch := func(ctx context.Context, os image.OS, pools ...string) image.Image {
		GinkgoHelper()
		wanted := suite.Push(ctx, cluster, os)
		for _, pool := range pools {
			Expect(cluster.PatchPool(ctx, pool, wanted)).To(Succeed())
		}
		return wanted
	}

	It("waits for Rancher, and says what has it drain the Nodes", func(ctx SpecContext) {
		wanted := patch(ctx, image.OS{}, controlPlanes, scenario.Deployment)
		for _, pool := range []string{controlPlanes, scenario.Deployment} {
			Eventually(says, patience, look).WithContext(ctx).WithArguments(cluster, pool, infrav1.RolloutBlockedCondition).
				Should(Equal(said{"True", infrav1.WaitingForRancherReason}))
		}
		condition, err := cluster.TemplateCondition(ctx, scenario.Deployment, infrav1.RolloutBlockedCondition)
		Expect(err).NotTo(HaveOccurred())
		Expect(condition.Message).To(Equal("Cluster hooked: 2 Machines are upgraded when Rancher drains their Nodes, as it does for another version of " +
			"Kubernetes. For the OS alone raise spec.rkeConfig.provisionGeneration of its clusters.provisioning.cattle.io"))
		Consistently(ends, calm, look).WithContext(ctx).WithArguments(cluster, wanted).Should(BeEmpty())

		roll(ctx)
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Eventually(ends, patience, look).WithContext(ctx).WithArguments(cluster, wanted).Should(And(HaveLen(3), HaveEach(infrav1.UpgradeSucceeded)))
		for _, pool := range []string{controlPlanes, scenario.Deployment} {
			Expect(cluster.AwaitRolledOut(ctx, pool)).To(Succeed())
		}
	})

	It("does not hold a drain that nothing is to be upgraded in", func(ctx SpecContext) {
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		roll(ctx)
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Expect(cluster.Attempts(ctx)).To(HaveLen(len(attempts)))
	})

	It("has Rancher wait where an image is bad, and goes on with the next one in the same drain", func(ctx SpecContext) {
		bad := patch(ctx, image.OS{Boot: source.BootUnhealthy}, scenario.Deployment)
		roll(ctx)
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Eventually(heldEvents, patience, look).WithContext(ctx).WithArguments(cluster).Should(ContainElement(ContainSubstring(
			"Rancher waits with Node " + attempt.Status.NodeName + " cordoned: ElementalHostUpgrade " + attempt.Name + " ended as RolledBack")))
		Consistently(ends, calm, look).WithContext(ctx).WithArguments(cluster, bad).Should(HaveLen(1))
		secret := planOf(ctx, cluster, attempt.Spec.MachineName)
		Expect(secret.Annotations).To(HaveKey(rancher.PostDrainAnnotation))
		Expect(secret.Annotations).NotTo(HaveKey(infrav1.RancherPostDrainAnnotation))

		good := patch(ctx, image.OS{}, scenario.Deployment)
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Expect(cluster.AwaitRolledOut(ctx, scenario.Deployment)).To(Succeed())
		Eventually(ends, patience, look).WithContext(ctx).WithArguments(cluster, good).Should(And(HaveLen(2), HaveEach(infrav1.UpgradeSucceeded)))
		Expect(ends(ctx, cluster, bad)).To(And(HaveLen(1), HaveEach(infrav1.UpgradeSuperseded)))
	})
})

// said is a condition of a template.
type said struct{ Status, Reason string }

func says(ctx context.Context, cluster *scenario.Cluster, name, condition string) (said, error) {
	found, err := cluster.TemplateCondition(ctx, name, condition)
	return said{string(found.Status), found.Reason}, err
}

// ends of the attempts for an image.
func ends(ctx context.Context, cluster *scenario.Cluster, of image.Image) ([]infrav1.UpgradePhase, error) {
	attempts, err := cluster.Attempts(ctx)
	found := []infrav1.UpgradePhase{}
	for i := range attempts {
		if spec := attempts[i].Spec; spec.ImageURI == of.URI() && spec.Driver == infrav1.DriverRancherDrain {
			found = append(found, attempts[i].PhaseNow())
		}
	}
	return found, err
}

// marksLeft are the marks of attempts and cordons on Nodes, and the answers on plan secrets.
func marksLeft(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	nodes, err := cluster.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	found := []string{}
	for i := range nodes {
		if nodes[i].Spec.Unschedulable {
			found = append(found, "cordon of "+nodes[i].Name)
		}
		for _, key := range []string{infrav1.MarkedByAnnotation, infrav1.CordonedByAnnotation, infrav1.PersonsCordonAnnotation} {
			if value := nodes[i].Annotations[key]; value != "" {
				found = append(found, key+" of "+nodes[i].Name)
			}
		}
	}
	secrets, err := rancher.PlanSecrets(ctx, theLab.Kube, cluster.RancherKey())
	for i := range secrets {
		for _, key := range []string{infrav1.RancherPreDrainAnnotation, infrav1.RancherPostDrainAnnotation} {
			if _, isLeft := secrets[i].Annotations[key]; isLeft {
				found = append(found, key+" of "+secrets[i].Name)
			}
		}
	}
	return found, err
}

// heldEvents are the notes of the events that tell why Rancher waits.
func heldEvents(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	list := &corev1.EventList{}
	err := theLab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()), client.MatchingFields{"reason": infrav1.EventRancherDrainHeld})
	found := []string{}
	for i := range list.Items {
		found = append(found, list.Items[i].Message)
	}
	return found, err
}

// planOf is the plan secret of a Machine.
func planOf(ctx context.Context, cluster *scenario.Cluster, name string) *corev1.Secret {
	GinkgoHelper()
	machines, err := cluster.Machines(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range machines {
		if machines[i].Name == name {
			secret, err := cluster.PlanSecret(ctx, &machines[i])
			Expect(err).NotTo(HaveOccurred())
			return secret
		}
	}
	Fail("no Machine " + name)
	return nil
}
