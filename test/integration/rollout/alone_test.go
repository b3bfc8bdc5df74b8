// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A pool with a surge that this provider upgrades alone", Ordered, func() {
	var cluster *scenario.Cluster
	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{WithoutInPlaceUpdates: true, WithoutExtension: true}),
			scenario.Options{MaxSurge: 1, Workers: 2, Spare: 1})
	})
	scale := func(ctx context.Context, replicas int) {
		GinkgoHelper()
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "scale", "machinedeployment", scenario.Deployment, "--replicas", strconv.Itoa(replicas))
		Expect(err).NotTo(HaveOccurred())
	}
	// stopOne stops the next host while it writes an image, and no other.
	stopOne := func(ctx context.Context, wanted image.Image) (goOn func()) {
		GinkgoHelper()
		held := suite.HoldHosts(cluster.Lab, infrav1.HostUpgradeApplying)
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Eventually(held.Stopped).WithArguments(infrav1.HostUpgradeApplying).Should(Equal(1))
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		at := slices.IndexFunc(attempts, func(of infrav1.ElementalHostUpgrade) bool { return of.PhaseNow().IsActive() })
		Expect(at).To(BeNumerically(">=", 0))
		held.Release(infrav1.HostUpgradeApplying, attempts[at].Spec.HostName)
		return func() { held.Release(infrav1.HostUpgradeApplying) }
	}
	deleted := func() []string { return audit.Deleted(suite.Audit(cluster.Lab.Management), "machines") }

	It("takes a patch, although the manager is killed right after it, beside the extension of another provider", func(ctx SpecContext) {
		foreign := &runtimev1.ExtensionConfig{
			ObjectMeta: metav1.ObjectMeta{Name: "foreign"},
			Spec: runtimev1.ExtensionConfigSpec{
				ClientConfig:      runtimev1.ClientConfig{URL: "https://127.0.0.1:1"},
				NamespaceSelector: &metav1.LabelSelector{},
			},
		}
		Expect(cluster.Lab.Kube.Create(ctx, foreign)).To(Succeed())
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		wanted := push(ctx, cluster, "away", image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		cluster.Lab.Provider.Process.Kill()

		By("with no manager, what starts no rollout can be changed, and what does cannot")
		Expect(patchDeployment(ctx, cluster, scenario.Deployment, `{"spec":{"template":{"metadata":{"annotations":{"example.com/team":"edge"}}}}}`)).To(Succeed())
		Expect(patchDeployment(ctx, cluster, scenario.Deployment, otherVersion)).To(MatchError(ContainSubstring("failed calling webhook")))
		Expect(cluster.Lab.Provider.Process.Restart()).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		expectKept(ctx, cluster, before)
	})

	It("has a rotation refused, which would replace Machines, with all that there is to change", func(ctx SpecContext) {
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.CopyTemplate(ctx, "rotated")).To(Succeed())
		Expect(pointTo(ctx, cluster, scenario.Deployment, "rotated")).To(MatchError(And(
			ContainSubstring("its Machines would be replaced and their hosts reset"), ContainSubstring("No ExtensionConfig offers the handlers"),
			ContainSubstring("InPlaceUpdates"), ContainSubstring("maxSurge 1: set maxSurge 0"))))
		expectKept(ctx, cluster, before)
	})

	It("shows a node that is out of service as unavailable, which a MachineHealthCheck on that leaves alone", func(ctx SpecContext) {
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		checkInfrastructure(ctx, cluster)
		wanted := push(ctx, cluster, "unavailable", image.OS{})
		goOn := stopOne(ctx, wanted)
		Eventually(unavailable).WithContext(ctx).WithArguments(cluster).Should(HaveLen(1))
		Eventually(func(ctx context.Context) int32 {
			return ptr.Deref(deployment(ctx, cluster).Status.AvailableReplicas, 0)
		}).WithContext(ctx).Should(BeEquivalentTo(1))
		Consistently(deleted, 5*time.Second).Should(BeEmpty(), "for longer than the check allows")
		goOn()
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Eventually(unavailable).WithContext(ctx).WithArguments(cluster).Should(BeEmpty())
		Expect(deleted()).To(BeEmpty())
		expectKept(ctx, cluster, before)
	})

	It("gives a Machine the new content that is added in mid-rollout, refuses what would replace Machines meanwhile, and loses none but the one that a user scales down", func(ctx SpecContext) {
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		wanted := push(ctx, cluster, "scaled", image.OS{})
		goOn := stopOne(ctx, wanted)

		By("another version of Kubernetes, which is refused")
		Expect(patchDeployment(ctx, cluster, scenario.Deployment, otherVersion)).To(MatchError(And(ContainSubstring("cannot be changed now: ElementalHostUpgrade "), ContainSubstring("a rollout would replace Machines meanwhile"))))

		By("one more replica")
		scale(ctx, 3)
		Eventually(running).WithContext(ctx).WithArguments(cluster).Should(HaveLen(3))
		goOn()
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		of := []string{}
		for i := range attempts {
			if attempts[i].Spec.ImageURI == wanted.URI() {
				of = append(of, attempts[i].Spec.HostName)
			}
		}
		Expect(of).To(ConsistOf(before[0].Node, before[1].Node), "the new Machine was made with it")
		Expect(deleted()).To(BeEmpty())

		By("one replica less in the middle of the next")
		next := push(ctx, cluster, "less", image.OS{})
		goOn = stopOne(ctx, next)
		scale(ctx, 2)
		goOn()
		Eventually(running).WithContext(ctx).WithArguments(cluster).Should(HaveLen(2))
		Expect(cluster.AwaitImage(ctx, next)).To(Succeed())
		Expect(deleted()).To(HaveLen(1))
		suite.ExpectOwnersLeftAlone(cluster.Lab)
	})

	It("upgrades Machines that are replaced only when a user deletes them, and those of a MachineSet without a MachineDeployment", func(ctx SpecContext) {
		const onDelete = `{"spec":{"rollout":{"strategy":{"type":"OnDelete","rollingUpdate":null}}}}`
		Expect(patchDeployment(ctx, cluster, scenario.Deployment, onDelete)).To(Succeed())
		createOwnSet(ctx, cluster)
		Eventually(running).WithContext(ctx).WithArguments(cluster).Should(HaveLen(3))
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		scaledDown := deleted()

		wanted := push(ctx, cluster, "on-delete", image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Expect(cluster.Identities(ctx)).To(Equal(before))
		Expect(deleted()).To(Equal(scaledDown))
		suite.ExpectOwnersLeftAlone(cluster.Lab)
	})
})

// createOwnSet creates a MachineSet without a MachineDeployment, of one Machine like those of the pool.
func createOwnSet(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	own := map[string]string{clusterv1.ClusterNameLabel: cluster.Options.Name, "example.com/set": "own"}
	set := &clusterv1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: "own", Labels: own},
		Spec: clusterv1.MachineSetSpec{
			ClusterName: cluster.Options.Name, Replicas: new(int32(1)),
			Selector: metav1.LabelSelector{MatchLabels: own}, Template: deployment(ctx, cluster).Spec.Template,
		},
	}
	set.Spec.Template.Labels = own
	Expect(cluster.Lab.Kube.Create(ctx, set)).To(Succeed())
}

// otherVersion is a patch of a MachineDeployment that has Cluster API replace its Machines.
const otherVersion = `{"spec":{"template":{"spec":{"version":"v1.99.0"}}}}`

// patchDeployment patches a MachineDeployment, as kubectl does.
func patchDeployment(ctx context.Context, cluster *scenario.Cluster, deployment, patch string) error {
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "machinedeployment", deployment, "--type", "merge", "--patch", patch)
	return err
}

// pointTo has a MachineDeployment refer to a template.
func pointTo(ctx context.Context, cluster *scenario.Cluster, deployment, template string) error {
	return patchDeployment(ctx, cluster, deployment, `{"spec":{"template":{"spec":{"infrastructureRef":{"name":"`+template+`"}}}}}`)
}

func deployment(ctx context.Context, cluster *scenario.Cluster) *clusterv1.MachineDeployment {
	GinkgoHelper()
	md := &clusterv1.MachineDeployment{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Deployment}, md)).To(Succeed())
	return md
}

// running are the Machines that run, and are not being deleted.
func running(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	machines, err := cluster.Machines(ctx)
	names := []string{}
	for i := range machines {
		if machines[i].Status.Phase == string(clusterv1.MachinePhaseRunning) && machines[i].DeletionTimestamp.IsZero() {
			names = append(names, machines[i].Name)
		}
	}
	return names, err
}

// unavailable are the Machines that show that their nodes are out of service for an upgrade.
func unavailable(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	machines, err := cluster.Machines(ctx)
	names := []string{}
	for i := range machines {
		if conditions.GetReason(&machines[i], clusterv1.MachineInfrastructureReadyCondition) == infrav1.UpgradingReason {
			names = append(names, machines[i].Name)
		}
	}
	return names, err
}

// checkInfrastructure has a MachineHealthCheck remediate workers whose infrastructure is not ready for a second, until the spec ends.
func checkInfrastructure(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	check := &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: "infrastructure"},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: cluster.Options.Name,
			Selector:    metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineDeploymentNameLabel: scenario.Deployment}},
			Checks: clusterv1.MachineHealthCheckChecks{UnhealthyMachineConditions: []clusterv1.UnhealthyMachineCondition{
				{Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionFalse, TimeoutSeconds: new(int32(1))},
			}},
		},
	}
	Expect(cluster.Lab.Kube.Create(ctx, check)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.Lab.Kube.Delete(ctx, check)).To(Succeed()) })
	Eventually(func(ctx context.Context) (int32, error) {
		err := cluster.Lab.Kube.Get(ctx, client.ObjectKeyFromObject(check), check)
		return ptr.Deref(check.Status.CurrentHealthy, 0), err
	}).WithContext(ctx).Should(BeEquivalentTo(2), "it sees the workers")
}
