// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// mended is the failure message of these specs: they assert on what KubeadmControlPlane does by itself, which is the only
// reason for that part of package capiworkaround.
func mended(part string) string {
	return "KubeadmControlPlane does not behave so any more: remove " + part + " from internal/capiworkaround"
}

// A policy refuses all deletions of the cluster's Machines, so that what KubeadmControlPlane tries to delete is not lost.
var _ = Describe("KubeadmControlPlane by itself", Ordered, func() {
	var (
		cluster *scenario.Cluster
		kept    []scenario.Identity
		// host is off, and down is its Machine.
		host *lab.Host
		down string
	)

	BeforeAll(func(ctx SpecContext) {
		workload, err := theLab.StartWorkload(ctx, "alone")
		Expect(err).NotTo(HaveOccurred())
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "alone", Workload: workload, ControlPlane: 3})
		kept, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		suite.KeepMachines(ctx, cluster)
	})

	AfterEach(func(ctx SpecContext) { Expect(cluster.Identities(ctx)).To(Equal(kept)) })

	It("does not look again at what it does not know (LookAgainAt)", func(ctx SpecContext) {
		const longer = time.Minute // than the 20 s that it takes where a component is unhealthy for certain
		host, down = oldest(ctx, cluster)
		Expect(host.PowerOff(ctx)).To(Succeed())
		Eventually(unhealthy).WithContext(ctx).WithArguments(cluster).Should(ConsistOf(down))
		Eventually(componentsHealthy).WithContext(ctx).WithArguments(cluster).Should(Equal(metav1.ConditionUnknown))

		last, seen := time.Now(), looks(cluster)
		Expect(seen).NotTo(BeZero(), "its log tells of its reconciles")
		Eventually(func() time.Duration {
			touchStaticPods(ctx, cluster)
			if now := looks(cluster); now != seen {
				last, seen = time.Now(), now
			}
			return time.Since(last)
		}, specs.Patience, time.Second).Should(BeNumerically(">", longer), mended("LookAgainAt"))
		Expect(componentsHealthy(ctx, cluster)).To(Equal(metav1.ConditionUnknown))

		Expect(wake(ctx, cluster)).To(Succeed())
		Eventually(looks).WithArguments(cluster).Should(BeNumerically(">", seen), "it does look when its object changes")
	})

	It("deletes the only Machine that is unhealthy instead of updating it (Judge and WaitForControlPlane)", func(ctx SpecContext) {
		deletionsRefused := suite.RefusedFromNow(theLab)
		goBack := pointByHand(ctx, cluster, suite.Push(ctx, cluster, image.OS{}))
		Eventually(deletionsRefused).Should(HaveEach(cluster.Namespace()+"/"+down), mended("judgeControlPlane and WaitForControlPlane"))

		goBack(ctx)
		Expect(host.PowerOn(ctx)).To(Succeed())
		Eventually(func(ctx context.Context) ([]string, error) {
			if err := wake(ctx, cluster); err != nil {
				return nil, err
			}
			return unhealthy(ctx, cluster)
		}, specs.Patience, time.Second).WithContext(ctx).Should(BeEmpty())
	})

	It("deletes a Machine whose update the API server refuses (RefusedUpdate)", func(ctx SpecContext) {
		deletionsRefused := suite.RefusedFromNow(theLab)
		wanted := suite.Push(ctx, cluster, image.OS{})
		lift := forbid(ctx, cluster, wanted.URI())
		goBack := pointByHand(ctx, cluster, wanted)
		Eventually(deletionsRefused).ShouldNot(BeEmpty(), mended("RefusedUpdate"))
		goBack(ctx)
		lift(ctx)
	})
})

// oldest Machine of the control plane, which KubeadmControlPlane updates first where no component is unhealthy for certain, and
// its host.
func oldest(ctx context.Context, cluster *scenario.Cluster) (*lab.Host, string) {
	GinkgoHelper()
	machines, err := cluster.ControlPlaneMachines(ctx)
	Expect(err).NotTo(HaveOccurred())
	found := slices.MinFunc(machines, func(a, b clusterv1.Machine) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	hosts, err := cluster.Hosts(ctx)
	Expect(err).NotTo(HaveOccurred())
	at := slices.IndexFunc(hosts, func(h infrav1.ElementalHost) bool { return h.Labels[infrav1.MachineNameLabel] == found.Name })
	Expect(at).To(BeNumerically(">=", 0), "the host of Machine "+found.Name)
	return cluster.Lab.Host(hosts[at].Name), found.Name
}

// pointByHand makes KubeadmControlPlane refer to a new template with an image, without the guard, until goBack.
func pointByHand(ctx context.Context, cluster *scenario.Cluster, os image.Image) (goBack func(context.Context)) {
	GinkgoHelper()
	restoreGuard := suite.WithoutGuard(ctx, cluster.Lab.Kube)
	former, err := cluster.ControlPlaneReference(ctx)
	Expect(err).NotTo(HaveOccurred())
	template := &infrav1.ElementalMachineTemplate{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.ControlPlaneTemplate}, template)).To(Succeed())
	template.ObjectMeta = metav1.ObjectMeta{Namespace: cluster.Namespace(), GenerateName: "by-hand-"}
	template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(os.URI())
	Expect(cluster.Lab.Kube.Create(ctx, template)).To(Succeed())
	Eventually(pointTo).WithContext(ctx).WithArguments(cluster, template.Name).Should(Succeed())
	return func(ctx context.Context) {
		GinkgoHelper()
		Eventually(pointTo).WithContext(ctx).WithArguments(cluster, former).Should(Succeed())
		// A reconcile that has read the other reference may still be about to delete a Machine.
		Eventually(func(ctx context.Context) (bool, error) {
			kcp, err := cluster.KubeadmControlPlane(ctx)
			return kcp.Status.ObservedGeneration == kcp.Generation, err
		}).WithContext(ctx).Should(BeTrue(), "KubeadmControlPlane has seen its former reference")
		restoreGuard(ctx)
	}
}

// touchStaticPods changes all mirror Pods, which KubeadmControlPlane judges the health of components by.
func touchStaticPods(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	_, err := cluster.WorkloadKubectl(ctx, "--namespace", metav1.NamespaceSystem, "label", "pods", "--all", "--overwrite",
		"touched="+strconv.FormatInt(time.Now().UnixNano(), 10))
	Expect(err).NotTo(HaveOccurred())
}

// looks counts how often KubeadmControlPlane has reconciled the cluster's, according to its log.
func looks(cluster *scenario.Cluster) int {
	GinkgoHelper()
	said, err := os.ReadFile(cluster.Lab.ControlPlane.Process.LogFile())
	Expect(err).NotTo(HaveOccurred())
	count := 0
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, `"Reconcile KubeadmControlPlane"`) && strings.Contains(line, `"`+cluster.Namespace()+"/"+scenario.ControlPlane+`"`) {
			count++
		}
	}
	return count
}

func componentsHealthy(ctx context.Context, cluster *scenario.Cluster) (metav1.ConditionStatus, error) {
	kcp, err := cluster.KubeadmControlPlane(ctx)
	found := conditions.Get(kcp, controlplanev1.KubeadmControlPlaneControlPlaneComponentsHealthyCondition)
	if err != nil || found == nil {
		return "", err
	}
	return found.Status, nil
}
