// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

// ask sets an annotation of a running guest; an empty value removes it.
func ask(ctx context.Context, key client.ObjectKey, annotation, value string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, annotation, value)
	if value == "" {
		patch = fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, annotation)
	}
	instance := &kubevirtv1.VirtualMachineInstance{}
	instance.Namespace, instance.Name = key.Namespace, key.Name
	Expect(theLab.WorkloadKube.Patch(ctx, instance, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// lastMigration is the phase of a guest's newest migration.
func lastMigration(ctx context.Context, key client.ObjectKey) func() (kubevirtv1.VirtualMachineInstanceMigrationPhase, error) {
	return func() (kubevirtv1.VirtualMachineInstanceMigrationPhase, error) {
		migrations, err := vm.Migrations(ctx, theLab.WorkloadKube, key)
		if len(migrations) == 0 {
			return "", err
		}
		return migrations[len(migrations)-1].Status.Phase, err
	}
}

var _ = Describe("A migration", func() {
	It("whose target vanishes fails, and the guest stays as it is", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{
			Name: "vanishing", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Asks: map[string]string{hypervisor.TargetVanishes: hypervisor.Always},
		})
		Expect(evict(ctx, key)).To(Satisfy(apierrors.IsTooManyRequests))
		Eventually(lastMigration(ctx, key)).Should(Equal(kubevirtv1.MigrationFailed))
		Expect(stateOf(ctx, key)()).To(And(HaveField("UID", before.UID), HaveField("Node", nodeOne), HaveField("Running()", BeTrue()),
			HaveField("Evacuating", nodeOne)))
	}, SpecTimeout(patience))

	It("that hangs continues when it is unblocked, and is aborted when it is deleted", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{
			Name: "hanging", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Asks: map[string]string{hypervisor.MigrationHangs: hypervisor.HangSource},
		})
		Expect(evict(ctx, key)).To(Satisfy(apierrors.IsTooManyRequests))
		Eventually(lastMigration(ctx, key)).Should(Equal(kubevirtv1.MigrationRunning))

		By("aborting it")
		config, err := theLab.Workload.RESTConfig("lab")
		Expect(err).NotTo(HaveOccurred())
		Expect(vm.CancelEvacuation(ctx, config, key, nodeOne)).To(Succeed())
		migrations, err := vm.Migrations(ctx, theLab.WorkloadKube, key)
		Expect(err).NotTo(HaveOccurred())
		Expect(migrations).To(HaveLen(1))
		Expect(theLab.WorkloadKube.Delete(ctx, &migrations[0])).To(Succeed())
		Eventually(func() ([]kubevirtv1.VirtualMachineInstanceMigration, error) {
			return vm.Migrations(ctx, theLab.WorkloadKube, key)
		}).Should(BeEmpty())
		Eventually(stateOf(ctx, key)).Should(And(HaveField("Evacuating", BeEmpty()), HaveField("Node", nodeOne), HaveField("UID", before.UID)))

		By("unblocking the next one")
		Expect(evict(ctx, key)).To(Satisfy(apierrors.IsTooManyRequests))
		Eventually(lastMigration(ctx, key)).Should(Equal(kubevirtv1.MigrationRunning))
		ask(ctx, key, hypervisor.MigrationHangs, "")
		Eventually(stateOf(ctx, key)).Should(And(HaveField("Node", nodeTwo), HaveField("UID", before.UID)))
	}, SpecTimeout(patience))
})
