// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vms_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

var _ = Describe("Virtual machines that can be migrated", func() {
	It("are migrated off every node before it goes down, and none restarts", func(ctx SpecContext) {
		By("a PodDisruptionBudget that allows no eviction of their Pods")
		one := intstr.FromInt32(1)
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: vm.Namespace, Name: "all"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{kubevirtv1.AppLabel: "virt-launcher"}},
			},
		}
		guests := []guest{
			run(ctx, vm.Spec{Name: "live", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: nodeOne}),
			run(ctx, vm.Spec{Name: "if-possible", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrateIfPossible, Prefer: nodeTwo}),
			run(ctx, vm.Spec{Name: "none", EvictionStrategy: kubevirtv1.EvictionStrategyNone, Prefer: nodeThree}),
			run(ctx, vm.Spec{Name: "unset", RunStrategy: kubevirtv1.RunStrategyRerunOnFailure, Prefer: nodeOne}),
			run(ctx, vm.Spec{
				Name: "second-try", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: nodeTwo,
				Asks: map[string]string{hypervisor.MigrationFails: "1"},
			}),
		}
		Expect(cluster.WorkloadKube().Create(ctx, budget)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.WorkloadKube().Delete(ctx, budget)).To(Succeed()) })

		By("one whose guest has ended, and is not restarted")
		ended, err := vm.Create(ctx, cluster.WorkloadKube(), vm.Spec{
			Name: "ended", RunStrategy: kubevirtv1.RunStrategyOnce, Prefer: nodeOne, Asks: map[string]string{hypervisor.Fails: "true"},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.WorkloadKube().Delete(ctx, ended)).To(Succeed()) })
		Eventually(stateOf(ctx, client.ObjectKeyFromObject(ended))).Should(HaveField("Phase", kubevirtv1.Failed))

		wanted := upgrade(ctx)
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		for _, g := range guests {
			Expect(cluster.VM(ctx, g.key)).To(And(HaveField("UID", g.before.UID), HaveField("Running()", BeTrue())), g.key.Name)
		}
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		decisions := map[string]int{}
		for i := range attempts {
			if attempts[i].Spec.ImageURI != wanted.URI() {
				continue
			}
			for _, decision := range attempts[i].Status.VirtualMachines {
				decisions[decision.Name+" "+string(decision.Decision)]++
			}
		}
		for _, g := range guests {
			Expect(decisions).To(HaveKeyWithValue(g.key.Name+" "+string(infrav1.VMMigrate), BeNumerically(">=", 1)))
		}
		Expect(decisions).To(HaveKey("ended " + string(infrav1.VMIgnore)))
		Expect(decisions).To(HaveLen(len(guests)+1), "%v", decisions)
		expectNothingLeft(ctx)
	}, SpecTimeout(3*patience))
})
