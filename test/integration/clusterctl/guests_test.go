// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// stayOn creates virtual machines that run on a node and cannot leave it, but may be stopped; one more is off.
func stayOn(ctx context.Context, cluster *scenario.Cluster, nodes []string) {
	GinkgoHelper()
	for _, node := range nodes {
		_, err := cluster.CreateVM(ctx, vm.Spec{
			Name: node, Require: node, RunStrategy: kubevirtv1.RunStrategyRerunOnFailure,
			Labels: map[string]string{infrav1.VMPolicyLabel: string(infrav1.VMPolicyShutdownAndRestore)},
		})
		Expect(err).NotTo(HaveOccurred())
	}
	_, err := vm.Create(ctx, cluster.WorkloadKube(), vm.Spec{Name: "off", Require: nodes[0], RunStrategy: kubevirtv1.RunStrategyHalted})
	Expect(err).NotTo(HaveOccurred())
}

func machineNamed(ctx context.Context, name string) (*kubevirtv1.VirtualMachine, error) {
	machine := &kubevirtv1.VirtualMachine{}
	return machine, source.WorkloadKube.Get(ctx, client.ObjectKey{Namespace: vm.Namespace, Name: name}, machine)
}

// expectAsTheyWere asserts that the virtual machines of stayOn run, or are off, as before.
func expectAsTheyWere(ctx context.Context, cluster *scenario.Cluster, nodes []string) {
	GinkgoHelper()
	for _, node := range nodes {
		_, err := cluster.AwaitVM(ctx, client.ObjectKey{Namespace: vm.Namespace, Name: node}, node)
		Expect(err).NotTo(HaveOccurred())
		Expect(machineNamed(ctx, node)).To(And(
			HaveField("Spec.RunStrategy", HaveValue(Equal(kubevirtv1.RunStrategyRerunOnFailure))),
			HaveField("Annotations", Not(HaveKey(infrav1.VMPowerStateAnnotation))), HaveField("Labels", Not(HaveKey(infrav1.VMStoppedLabel)))))
	}
	Expect(machineNamed(ctx, "off")).To(HaveField("Spec.RunStrategy", HaveValue(Equal(kubevirtv1.RunStrategyHalted))))
	Expect(cluster.VM(ctx, client.ObjectKey{Namespace: vm.Namespace, Name: "off"})).To(Equal(vm.State{}))
}

// holdDrains gives each node a Pod that is not evicted while its PodDisruptionBudget exists.
func holdDrains(ctx context.Context, nodes []string) *policyv1.PodDisruptionBudget {
	GinkgoHelper()
	held := map[string]string{"held": "true"}
	for _, node := range nodes {
		Expect(source.WorkloadKube.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "held-" + node, Labels: held},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "held", Image: "registry.example.com/held:1"}}},
		})).To(Succeed())
	}
	all := intstr.FromInt(len(nodes))
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "held"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &all, Selector: &metav1.LabelSelector{MatchLabels: held}},
	}
	Expect(source.WorkloadKube.Create(ctx, budget)).To(Succeed())
	Eventually(func(ctx context.Context) (int32, error) {
		err := source.WorkloadKube.Get(ctx, client.ObjectKeyFromObject(budget), budget)
		return budget.Status.CurrentHealthy, err
	}).WithContext(ctx).Should(BeEquivalentTo(len(nodes)), "the budget counts")
	return budget
}
