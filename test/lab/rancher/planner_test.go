// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

var _ = Describe("A cluster that Rancher provisions", func() {
	hooked := rancher.DrainOptions{Enabled: true}.WithHooks(pre, post)
	// draining counts the machines that are being drained.
	draining := func(w *world) func(context.Context) ([]string, error) {
		return func(ctx context.Context) ([]string, error) {
			secrets, err := rancher.PlanSecrets(ctx, server.Client, w.key)
			found := []string{}
			for i := range secrets {
				if secrets[i].Annotations[rancher.PreDrainAnnotation] != "" {
					found = append(found, secrets[i].Labels[rancher.MachineNameLabel])
				}
			}
			return found, err
		}
	}
	end := func(ctx context.Context, w *world, machine int) {
		GinkgoHelper()
		w.answer(ctx, machine, pre)
		Eventually(w.annotations(machine)).WithContext(ctx).Should(HaveKey(rancher.PostDrainAnnotation))
		w.answer(ctx, machine, post)
	}

	It("is rolled tier by tier, and one by one in each", func(ctx SpecContext) {
		w := newWorld(ctx, rancher.UpgradeStrategy{ControlPlaneDrainOptions: hooked, WorkerDrainOptions: hooked}, "cp", "a", "b")
		w.raise(ctx)
		for machine := range w.machines {
			Eventually(draining(w)).WithContext(ctx).Should(ConsistOf(w.machines[machine].Name))
			Consistently(draining(w), calm, look).WithContext(ctx).Should(ConsistOf(w.machines[machine].Name))
			end(ctx, w, machine)
		}
		w.awaitRolled(ctx)
	})

	It("is rolled as many at once as are allowed", func(ctx SpecContext) {
		strategy := workersWith(hooked)
		strategy.WorkerConcurrency = "50%"
		w := newWorld(ctx, strategy, "cp", "a", "b", "c")
		w.raise(ctx)
		Eventually(draining(w)).WithContext(ctx).Should(HaveLen(2))
		Consistently(draining(w), calm, look).WithContext(ctx).Should(HaveLen(2))
		for machine := range w.machines[1:] {
			Eventually(draining(w)).WithContext(ctx).Should(ContainElement(w.machines[machine+1].Name))
			end(ctx, w, machine+1)
		}
		w.awaitRolled(ctx)
	})

	It("does not drain its only machine, but asks its hooks", func(ctx SpecContext) {
		w := newWorld(ctx, rancher.UpgradeStrategy{ControlPlaneDrainOptions: hooked}, "cp")
		pod := w.addPod(ctx, 0, "web")
		w.raise(ctx)
		off := hooked
		off.Enabled = false
		Eventually(w.annotations(0)).WithContext(ctx).Should(HaveKeyWithValue(rancher.PreDrainAnnotation, token(off)))
		end(ctx, w, 0)
		w.awaitRolled(ctx)
		Expect(pod(ctx)).To(BeTrue())
	})

	It("is rolled without a drain where neither a drain nor a hook is wanted", func(ctx SpecContext) {
		w := newWorld(ctx, rancher.UpgradeStrategy{}, "cp", "node")
		Expect(played.SetKubernetesVersion(ctx, w.key, "v1.36.4+rke2r1")).To(Succeed())
		Eventually(func() (string, error) {
			secret := &corev1.Secret{}
			err := server.Client.Get(ctx, rancher.PlanSecret(w.machines[worker]), secret)
			return string(secret.Data["appliedPlan"]), err
		}).WithContext(ctx).Should(ContainSubstring("v1.36.4-rke2r1"))
		w.awaitRolled(ctx)
		Expect(w.isCordoned(worker)(ctx)).To(BeFalse())
	})

	It("has its MachineDeployments' references put back", func(ctx SpecContext) {
		w := newWorld(ctx, rancher.UpgradeStrategy{}, "cp", "node")
		deployment := &clusterv1.MachineDeployment{}
		key := client.ObjectKey{Namespace: w.key.Namespace, Name: rancher.DeploymentName(w.key.Name, pool)}
		reference := func(ctx context.Context) (string, error) {
			err := server.Client.Get(ctx, key, deployment)
			return deployment.Spec.Template.Spec.InfrastructureRef.Name, err
		}
		Expect(reference(ctx)).To(Equal("racks"))
		before := deployment.DeepCopy()
		deployment.Spec.Template.Spec.InfrastructureRef.Name = "another"
		Expect(server.Client.Patch(ctx, deployment, client.MergeFrom(before))).To(Succeed())
		Expect(deployment.Spec.Template.Spec.InfrastructureRef.Name).To(Equal("another"))
		Eventually(reference).WithContext(ctx).Should(Equal("racks"))
	})
})
