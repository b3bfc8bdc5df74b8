// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("An upgrade in a cluster with Longhorn", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		web := suite.Web(3)
		attacher := csiAttacher()
		for _, deployment := range []*appsv1.Deployment{web, attacher} {
			Expect(theLab.WorkloadKube.Create(ctx, deployment)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) error { return theLab.WorkloadKube.Delete(ctx, deployment) })
			Eventually(func(ctx context.Context) (int32, error) {
				err := theLab.WorkloadKube.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
				return deployment.Status.ReadyReplicas, err
			}).WithContext(ctx).Should(BeEquivalentTo(3))
		}
		nodes := nodeNames(ctx)
		Expect(longhorn.AddVolume(ctx, storage.VolumeSpec{
			Name: "pvc-data", Claim: "default/data", Nodes: nodes, AttachedTo: nodes[2], Workload: "Deployment web",
		})).To(Succeed())
		Eventually(func(ctx context.Context) (int, error) {
			managers := &corev1.PodList{}
			err := theLab.WorkloadKube.List(ctx, managers, client.MatchingLabels{storage.ComponentLabel: storage.InstanceManager})
			return len(managers.Items), err
		}).WithContext(ctx).Should(Equal(3))
	})

	It("names the volume behind a PodDisruptionBudget of Longhorn's, and restores the setting when it is aborted", func(ctx SpecContext) {
		nodes := nodeNames(ctx)
		longhorn.Stick("pvc-data")
		before := cluster.Image
		Expect(cluster.PatchImage(ctx, suite.Push(ctx, cluster, image.OS{}))).To(Succeed())
		// The nodes before it may have completed their upgrades by then.
		Eventually(says).WithContext(ctx).Should(ContainSubstring("allows no eviction of Pod longhorn-system/" + storage.ManagerName(nodes[2]) +
			"; Longhorn volumes attached to Node " + nodes[2] + ": pvc-data (PersistentVolumeClaim default/data)"))
		Expect(setting(ctx)).To(Equal(raised))

		attempt, err := underway(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.PatchImage(ctx, before)).To(Succeed())
		Eventually(func(ctx context.Context) (infrav1.UpgradePhase, error) {
			err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(attempt), attempt)
			return attempt.Status.Phase, err
		}).WithContext(ctx).Should(Equal(infrav1.UpgradeSuperseded))
		longhorn.Stick()
		Expect(cluster.AwaitImage(ctx, before)).To(Succeed())
		Eventually(setting).WithContext(ctx).Should(Equal(restored))
	}, SpecTimeout(2*patience))

	It("drains what serves volumes last, waits until replicas are rebuilt, and restores the setting although the manager is killed", func(ctx SpecContext) {
		hosting := spreadPods(ctx)
		began := len(evictions())
		longhorn.HoldRebuilds(true)
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Eventually(says).WithContext(ctx).Should(And(HavePrefix("Settle "),
			ContainSubstring("waiting for Longhorn to rebuild the replicas on Node"), ContainSubstring("pvc-data (PersistentVolumeClaim default/data)")))
		attempt, err := underway(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(setting(ctx)).To(Equal(raised))
		expectStorageLast(hosting[attempt.Status.NodeName], evictions()[began:])

		theLab.Provider.Process.Kill()
		Expect(theLab.Provider.Process.Restart()).To(Succeed())
		Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
		Consistently(func(ctx context.Context) (string, error) {
			holding, err := underway(ctx)
			if err != nil || holding == nil {
				return "", err
			}
			return holding.Name, err
		}).WithContext(ctx).Should(Equal(attempt.Name), "no other node is touched meanwhile")
		Expect(setting(ctx)).To(Equal(raised))

		longhorn.HoldRebuilds(false)
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Eventually(setting).WithContext(ctx).Should(Equal(restored))
	}, SpecTimeout(2*patience))

	It("keeps a setting that a person has changed meanwhile", func(ctx SpecContext) {
		longhorn.HoldRebuilds(true)
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Eventually(setting).WithContext(ctx).Should(Equal(raised))
		Expect(longhorn.SetReplenishment(ctx, "900")).To(Succeed())
		longhorn.HoldRebuilds(false)
		Eventually(setting).WithContext(ctx).Should(Equal(replenishment{"900", false}), "the first node's end leaves it")
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Eventually(setting).WithContext(ctx).Should(Equal(replenishment{"900", false}), "and what the others have set is restored to it")
	}, SpecTimeout(2*patience))
})

// csiAttacher is the Deployment of a CSI driver's sidecar, like Longhorn's.
func csiAttacher() *appsv1.Deployment {
	deployment := suite.Web(3)
	labels := map[string]string{"app": "csi-attacher"}
	deployment.ObjectMeta = metav1.ObjectMeta{Namespace: storage.Namespace, Name: "csi-attacher"}
	deployment.Spec.Selector.MatchLabels, deployment.Spec.Template.Labels = labels, labels
	return deployment
}

// podsByNode are the Pods that are to be drained, as namespace/name, by Node.
func podsByNode(ctx context.Context) map[string][]string {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(theLab.WorkloadKube.List(ctx, pods)).To(Succeed())
	found := map[string][]string{}
	for _, pod := range pods.Items {
		if owner := metav1.GetControllerOf(&pod); owner == nil || owner.Kind != "DaemonSet" {
			found[pod.Spec.NodeName] = append(found[pod.Spec.NodeName], pod.Namespace+"/"+pod.Name)
		}
	}
	return found
}

// spreadPods waits until each Node runs Pods of both sorts, because the previous drains have moved some. It
// returns them.
func spreadPods(ctx context.Context) (hosting map[string][]string) {
	GinkgoHelper()
	const again = 5 * time.Second
	Eventually(func(ctx context.Context) error {
		hosting = podsByNode(ctx)
		for _, node := range nodeNames(ctx) {
			if !slices.ContainsFunc(hosting[node], isStorage) {
				return fmt.Errorf("no instance manager on Node %s: %v", node, hosting[node])
			}
			if slices.ContainsFunc(hosting[node], func(pod string) bool { return !isStorage(pod) }) {
				continue
			}
			err := theLab.WorkloadKube.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(metav1.NamespaceDefault))
			return errors.Join(err, fmt.Errorf("no other Pod on Node %s: scheduling them again", node))
		}
		return nil
	}).WithContext(ctx).WithPolling(again).Should(Succeed())
	return hosting
}

func isStorage(pod string) bool { return strings.HasPrefix(pod, storage.Namespace+"/") }

// evictions that our manager was granted, in their order.
func evictions() []audit.Eviction {
	GinkgoHelper()
	return slices.DeleteFunc(audit.Evictions(suite.Audit(theLab.Workload)), func(e audit.Eviction) bool { return e.User != theLab.WorkloadUser() })
}

// expectStorageLast asserts that of a Node's Pods those of Longhorn were evicted after all others.
func expectStorageLast(pods []string, granted []audit.Eviction) {
	GinkgoHelper()
	order := []string{}
	for _, eviction := range granted {
		if slices.Contains(pods, eviction.Pod) {
			order = append(order, eviction.Pod)
		}
	}
	Expect(order).To(ContainElement(Satisfy(isStorage)), "an instance manager was evicted")
	first := slices.IndexFunc(order, isStorage)
	Expect(order[:first]).NotTo(BeEmpty(), "an ordinary Pod was evicted before")
	Expect(order[first:]).To(HaveEach(Satisfy(isStorage)), "in %v", order)
}
