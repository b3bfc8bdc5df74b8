// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

// notMigratable simulates a disk that only one node can access.
var notMigratable = map[string]string{hypervisor.NotMigratable: kubevirtv1.VirtualMachineInstanceReasonDisksNotMigratable}

var _ = Describe("An eviction", func() {
	It("of a guest that can migrate is answered 429, and the guest is migrated live", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{Name: "moves", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate})
		Expect(before.Migratable).To(BeTrue())
		Expect(evict(ctx, key)).To(Satisfy(apierrors.IsTooManyRequests))
		Eventually(stateOf(ctx, key)).Should(And(HaveField("Node", nodeTwo), HaveField("Running()", BeTrue())))
		Expect(vm.Look(ctx, theLab.WorkloadKube, key)).To(And(HaveField("UID", before.UID), HaveField("Evacuating", BeEmpty())))
		Eventually(func() (int, error) {
			pods, err := vm.Launchers(ctx, theLab.WorkloadKube, key)
			return len(pods), err
		}).Should(Equal(1), "the source's launcher ends")
	}, SpecTimeout(patience))

	It("of a guest that cannot migrate, and must, is answered 429 forever", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{Name: "stays", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Asks: notMigratable})
		Expect(before.Migratable).To(BeFalse())
		Consistently(func() error { return evict(ctx, key) }, calm).Should(Satisfy(apierrors.IsTooManyRequests))
		Expect(stateOf(ctx, key)()).To(Equal(before), "it is not even marked")
		Expect(vm.Migrations(ctx, theLab.WorkloadKube, key)).To(BeEmpty())
	}, SpecTimeout(patience))

	It("of a guest that need not migrate is granted, and the guest is stopped and started as a new one", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{Name: "restarts"})
		Expect(evict(ctx, key)).To(Succeed())
		Eventually(stateOf(ctx, key)).Should(And(HaveField("UID", Not(Equal(before.UID))), HaveField("Running()", BeTrue())))
	}, SpecTimeout(patience))

	It("of a guest that an external controller evacuates is answered 429, and only marks the guest", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{Name: "external", EvictionStrategy: kubevirtv1.EvictionStrategyExternal})
		Expect(evict(ctx, key)).To(Satisfy(apierrors.IsTooManyRequests))
		Eventually(stateOf(ctx, key)).Should(HaveField("Evacuating", nodeOne))
		Consistently(func() ([]kubevirtv1.VirtualMachineInstanceMigration, error) {
			return vm.Migrations(ctx, theLab.WorkloadKube, key)
		}, calm).Should(BeEmpty())
		Expect(stateOf(ctx, key)()).To(And(HaveField("Node", nodeOne), HaveField("UID", before.UID)))
	}, SpecTimeout(patience))

	It("of a guest whose first migration fails is retried by KubeVirt", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{
			Name: "second-try", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Asks: map[string]string{hypervisor.MigrationFails: "1"},
		})
		Expect(evict(ctx, key)).To(Satisfy(apierrors.IsTooManyRequests))
		Eventually(stateOf(ctx, key)).Should(And(HaveField("Node", nodeTwo), HaveField("UID", before.UID)))
		migrations, err := vm.Migrations(ctx, theLab.WorkloadKube, key)
		Expect(err).NotTo(HaveOccurred())
		Expect(migrations).To(HaveLen(2))
		Expect(migrations[0].Status.Phase).To(Equal(kubevirtv1.MigrationFailed))
	}, SpecTimeout(patience))
})
