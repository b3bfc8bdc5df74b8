// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A Machine whose deletion does not complete", func() {
	It("does not block a rotation, and causes no other Machine to be deleted (finding 7)", func(ctx SpecContext) {
		atRest(ctx)
		extra := hire(ctx)
		allow := occupy(ctx, extra.Status.NodeRef.Name)
		dismiss(ctx, extra)

		By("rotating the template while that Machine is drained")
		wanted := suite.Push(ctx, cluster, image.OS{})
		rotate(ctx, wanted)
		Consistently(staying, calm).WithContext(ctx).Should(HaveLen(len(workers)))

		allow(ctx)
		Eventually(cluster.Machines).WithContext(ctx).Should(HaveLen(len(workers)))
		reaches(ctx, wanted)
	})
})

// scale sets the replicas of the MachineDeployment.
func scale(ctx context.Context, replicas int) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "scale", "machinedeployment", scenario.Deployment, "--replicas", strconv.Itoa(replicas))
	Expect(err).NotTo(HaveOccurred())
}

// hire adds a Machine, and returns it once it is Running.
func hire(ctx context.Context) *clusterv1.Machine {
	GinkgoHelper()
	scale(ctx, len(workers)+1)
	known := []string{}
	for _, worker := range workers {
		known = append(known, worker.MachineUID)
	}
	var extra *clusterv1.Machine
	Eventually(func(ctx context.Context) (string, error) {
		machines, err := cluster.Machines(ctx)
		for i := range machines {
			if !slices.Contains(known, string(machines[i].UID)) {
				extra = &machines[i]
				return extra.Status.Phase, err
			}
		}
		return "", err
	}).WithContext(ctx).Should(Equal("Running"))
	return extra
}

// dismiss scales down by that Machine.
func dismiss(ctx context.Context, machine *clusterv1.Machine) {
	GinkgoHelper()
	dismissed = append(dismissed, machine.Namespace+"/"+machine.Name)
	_, err := cluster.Kubectl(ctx, "--namespace", machine.Namespace, "annotate", "machine", machine.Name, clusterv1.DeleteMachineAnnotation+"=")
	Expect(err).NotTo(HaveOccurred())
	scale(ctx, len(workers))
	Eventually(staying).WithContext(ctx).Should(HaveLen(len(workers)))
}

// staying are the Machines that are not being deleted.
func staying(ctx context.Context) ([]string, error) {
	machines, err := cluster.Machines(ctx)
	names := []string{}
	for i := range machines {
		if machines[i].DeletionTimestamp.IsZero() {
			names = append(names, machines[i].Name)
		}
	}
	return names, err
}

// occupy puts a Pod on a node that may not be evicted until allow is called.
func occupy(ctx context.Context, node string) (allow func(ctx context.Context)) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: "default", Name: "stays", Labels: map[string]string{"app": "stays"}}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		NodeName: node, Containers: []corev1.Container{{Name: "stays", Image: "registry.example.com/stays:1"}},
	}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
	}}
	Expect(cluster.Lab.WorkloadKube.Create(ctx, pod)).To(Succeed())
	Expect(cluster.Lab.WorkloadKube.Create(ctx, budget)).To(Succeed())
	allow = func(ctx context.Context) {
		GinkgoHelper()
		Expect(client.IgnoreNotFound(cluster.Lab.WorkloadKube.Delete(ctx, budget))).To(Succeed())
	}
	DeferCleanup(func(ctx SpecContext) { allow(ctx) })
	Eventually(func(ctx context.Context) (int32, error) {
		err := cluster.Lab.WorkloadKube.Get(ctx, client.ObjectKeyFromObject(budget), budget)
		return budget.Status.CurrentHealthy, err
	}).WithContext(ctx).Should(Equal(int32(1)))
	return allow
}
