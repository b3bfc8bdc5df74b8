// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

var _ = Describe("A virtual machine", Serial, func() {
	It("is stopped and started by subresources, which change its run strategy", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{Name: "stopped"})
		config, err := theLab.Workload.RESTConfig("lab")
		Expect(err).NotTo(HaveOccurred())
		Expect(vm.Stop(ctx, config, key)).To(Succeed())
		Eventually(stateOf(ctx, key)).Should(Equal(vm.State{}))
		machine := &kubevirtv1.VirtualMachine{}
		Expect(theLab.WorkloadKube.Get(ctx, key, machine)).To(Succeed())
		Expect(machine.Spec.RunStrategy).To(HaveValue(Equal(kubevirtv1.RunStrategyHalted)))

		Expect(vm.Start(ctx, config, key)).To(Succeed())
		Eventually(stateOf(ctx, key)).Should(And(HaveField("Running()", BeTrue()), HaveField("UID", Not(Equal(before.UID)))))
	}, SpecTimeout(patience))

	It("whose guest crashes is Failed, and stays so with run strategy Once", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{Name: "crashed", RunStrategy: kubevirtv1.RunStrategyOnce})
		ask(ctx, key, hypervisor.Fails, "true")
		Eventually(stateOf(ctx, key)).Should(HaveField("Phase", kubevirtv1.Failed))
		Consistently(stateOf(ctx, key), calm).Should(HaveField("UID", before.UID))
	}, SpecTimeout(patience))

	It("dies with its host, is not reported dead until the host is back, and is restarted then", func(ctx SpecContext) {
		key, before := run(ctx, vm.Spec{Name: "unplugged", Require: nodeOne})
		nodes[nodeOne].cutOff()
		Consistently(stateOf(ctx, key), calm).Should(Equal(before))
		nodes[nodeOne].switchOn("boot-2")
		Eventually(stateOf(ctx, key)).Should(And(HaveField("UID", Not(Equal(before.UID))), HaveField("Running()", BeTrue()), HaveField("Node", nodeOne)))
	}, SpecTimeout(patience))
})
