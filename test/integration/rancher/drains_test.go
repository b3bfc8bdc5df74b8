// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("A drain of Rancher", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
		began   time.Time
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "drains", Rancher: true, ControlPlane: 1, Workers: 2, DrainOptions: withHooks})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
	BeforeEach(func() { began = time.Now() })
	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before))
		Eventually(marksLeft).WithContext(ctx).WithArguments(cluster).Should(BeEmpty())
	})
	succeeds := func(ctx context.Context, wanted image.Image) {
		GinkgoHelper()
		Eventually(ends, 2*specs.Patience).WithContext(ctx).WithArguments(cluster, wanted).Should(And(HaveLen(2), HaveEach(infrav1.UpgradeSucceeded)))
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Expect(cluster.AwaitRolledOut(ctx, scenario.Deployment)).To(Succeed())
	}
	// pause a worker, so that its attempt waits at Approve, and Rancher at its pre-drain hook.
	pause := func(ctx context.Context) (node string) {
		GinkgoHelper()
		node = cluster.HostName(1)
		Expect(cluster.PatchUpgradeOption(ctx, `{"strategy":{"mode":"manual","pauseNodes":["`+node+`"]}}`)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(cluster.PatchUpgradeOption(ctx, `{"strategy":{"mode":"auto","pauseNodes":[]}}`)).To(Succeed())
		})
		return node
	}
	// paused waits for the attempt that waits for an approval, and approve gives it.
	paused := func(ctx context.Context, wanted image.Image) *infrav1.ElementalHostUpgrade {
		GinkgoHelper()
		attempt, err := cluster.AwaitMessage(ctx, wanted, "Approve", "paused")
		Expect(err).NotTo(HaveOccurred())
		return attempt
	}
	// asksFor waits until Rancher asks the pre-drain hook for the Node of an attempt.
	asksFor := func(ctx context.Context, attempt *infrav1.ElementalHostUpgrade) {
		GinkgoHelper()
		Eventually(func() map[string]string { return planOf(ctx, cluster, attempt.Spec.MachineName).Annotations }).Should(HaveKey(rancher.PreDrainAnnotation))
	}
	approve := func(ctx context.Context, attempt *infrav1.ElementalHostUpgrade) {
		GinkgoHelper()
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalhostupgrade", attempt.Name, "--type", "merge", "--patch", `{"spec":{"approved":true}}`)
		Expect(err).NotTo(HaveOccurred())
	}

	It("leaves the cordon that a person had set before", func(ctx SpecContext) {
		node := cluster.HostName(1)
		_, err := cluster.WorkloadKubectl(ctx, "cordon", node)
		Expect(err).NotTo(HaveOccurred())
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		roll(ctx, cluster)
		succeeds(ctx, wanted)
		Expect(marksLeft(ctx, cluster)).To(ConsistOf("cordon of " + node))
		_, err = cluster.WorkloadKubectl(ctx, "uncordon", node)
		Expect(err).NotTo(HaveOccurred())
	})

	It("of two Nodes at once has one of them wait for a slot", func(ctx SpecContext) {
		Expect(theLab.Rancher.SetConcurrency(ctx, cluster.RancherKey(), "", "2")).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(theLab.Rancher.SetConcurrency(ctx, cluster.RancherKey(), "", "")).To(Succeed())
		})
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		Eventually(message).WithContext(ctx).WithArguments(cluster).Should(ContainSubstring(
			`Beware: upgradeStrategy.workerConcurrency is "2", and maxConcurrent 1 in spec.nodeUpgradeOption of ElementalCluster drains`))
		roll(ctx, cluster)
		succeeds(ctx, wanted)
		workers := audit.Cordons(since(suite.Audit(cluster.Workload()), began))
		delete(workers, cluster.ControlPlaneHostName(1))
		Expect(audit.MaxOverlap(workers)).To(Equal(2), "Rancher drains both")
		slots := audit.Slots(since(suite.Audit(theLab.Management), began), "drains")
		Expect(slots).To(HaveLen(2))
		Expect(audit.MaxOverlap(slots)).To(Equal(1), "one host at a time is upgraded")
	})

	It("that is reverted while its hook waits is not held, and the next one upgrades", func(ctx SpecContext) {
		node := pause(ctx)
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		roll(ctx, cluster)
		attempt := paused(ctx, wanted)
		asksFor(ctx, attempt)
		Expect(theLab.Rancher.Revert(ctx, cluster.RancherKey())).To(Succeed())
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Expect(cluster.WorkloadKubectl(ctx, "get", "node", node, "--output", "jsonpath={.spec.unschedulable}")).To(BeEmpty())

		Expect(paused(ctx, wanted).UID).To(Equal(attempt.UID))
		roll(ctx, cluster)
		approve(ctx, attempt)
		succeeds(ctx, wanted)
	})

	It("whose options are changed while its hook waits is asked again", func(ctx SpecContext) {
		pause(ctx)
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		roll(ctx, cluster)
		attempt := paused(ctx, wanted)
		asksFor(ctx, attempt)
		others := withHooks
		others.Timeout = 300
		Expect(theLab.Rancher.SetDrainOptions(ctx, cluster.RancherKey(), others, others)).To(Succeed())
		approve(ctx, attempt)
		succeeds(ctx, wanted)
	})

	It("that evicts nothing leaves that to the upgrade", func(ctx SpecContext) {
		createWeb(ctx, cluster, onEachNode(cluster))
		Eventually(podsOf).WithContext(ctx).WithArguments(cluster).Should(HaveLen(4))
		without := withHooks
		without.Enabled = false
		Expect(theLab.Rancher.SetDrainOptions(ctx, cluster.RancherKey(), without, without)).To(Succeed())
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		roll(ctx, cluster)
		succeeds(ctx, wanted)
		Expect(audit.Evictions(since(suite.Audit(cluster.Workload()), began))).To(And(Not(BeEmpty()), HaveEach(HaveField("User", theLab.WorkloadUser()))))
		Expect(theLab.Rancher.SetDrainOptions(ctx, cluster.RancherKey(), withHooks, withHooks)).To(Succeed())
	})

	It("goes on when the API of the workload cluster was away", func(ctx SpecContext) {
		pause(ctx)
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		roll(ctx, cluster)
		attempt := paused(ctx, wanted)
		asksFor(ctx, attempt)
		cluster.Workload().APIServer.Kill()
		DeferCleanup(func(ctx SpecContext) { // where the spec fails before it does
			if cluster.WorkloadKube().List(ctx, &corev1.NodeList{}) != nil {
				Expect(cluster.Workload().RestartAPIServer(ctx)).To(Succeed())
			}
		})
		approve(ctx, attempt)
		Eventually(messageOf).WithContext(ctx).WithArguments(cluster, wanted).Should(ContainSubstring("cannot reach workload cluster drains"))
		Expect(cluster.Workload().RestartAPIServer(ctx)).To(Succeed())
		succeeds(ctx, wanted)
	})

	It("ends right when the manager is killed whenever one side has asked or answered", func(ctx SpecContext) {
		kills := killAt(ctx, cluster, rancher.PreDrainAnnotation, infrav1.RancherPreDrainAnnotation, rancher.PostDrainAnnotation, infrav1.RancherPostDrainAnnotation)
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		roll(ctx, cluster)
		succeeds(ctx, wanted)
		Expect(kills()).To(ConsistOf(rancher.PreDrainAnnotation, infrav1.RancherPreDrainAnnotation, rancher.PostDrainAnnotation, infrav1.RancherPostDrainAnnotation))
	})
})

// killAt kills the manager when the annotations appear on plan secrets of workers, and starts it again. It returns at which it was killed.
func killAt(ctx context.Context, cluster *scenario.Cluster, keys ...string) (killed func() []string) {
	GinkgoHelper()
	mu, done := sync.Mutex{}, []string{}
	suite.Changes(ctx, theLab.Kube, &corev1.SecretList{}, func(event watch.Event) bool {
		secret, isOne := event.Object.(*corev1.Secret)
		if !isOne || secret.Labels[rancher.InitNodeLabel] != "" {
			return false
		}
		for _, key := range keys {
			if secret.Annotations[key] == "" || slices.Contains(done, key) {
				continue
			}
			theLab.Provider.Process.Kill()
			Expect(theLab.Provider.Process.Restart()).To(Succeed())
			mu.Lock()
			done = append(done, key)
			mu.Unlock()
		}
		return len(done) == len(keys)
	}, client.InNamespace(cluster.Namespace()), client.HasLabels{rancher.MachineNameLabel})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(done)
	}
}

// message of the condition of the workers' template that says what is waited for.
func message(ctx context.Context, cluster *scenario.Cluster) (string, error) {
	found, err := cluster.TemplateCondition(ctx, scenario.Deployment, infrav1.RolloutBlockedCondition)
	return found.Message, err
}

func since(events []auditv1.Event, began time.Time) []auditv1.Event {
	return slices.DeleteFunc(events, func(event auditv1.Event) bool { return event.StageTimestamp.Time.Before(began) })
}

// messageOf the first attempt for an image that has not ended.
func messageOf(ctx context.Context, cluster *scenario.Cluster, of image.Image) (string, error) {
	attempts, err := cluster.Attempts(ctx)
	for i := range attempts {
		if attempts[i].Spec.ImageURI == of.URI() && !attempts[i].PhaseNow().IsEnd() {
			return attempts[i].Status.Message, err
		}
	}
	return "", err
}
