// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

// guest is a virtual machine on the worker. There is no other node for it, so that each upgrade stops it; it must run
// again as before, however the upgrade ends.
var (
	guest    = vm.Spec{Name: "guest", Labels: map[string]string{infrav1.VMPolicyLabel: string(infrav1.VMPolicyShutdownAndRestore)}}
	guestKey = client.ObjectKeyFromObject(vm.New(guest))
)

func guestVM(ctx context.Context) (*kubevirtv1.VirtualMachine, error) {
	machine := &kubevirtv1.VirtualMachine{}
	return machine, theLab.WorkloadKube.Get(ctx, guestKey, machine)
}

// expectGuestBack waits until the guest runs as before, without any mark of an upgrade.
func expectGuestBack(ctx context.Context) {
	GinkgoHelper()
	Eventually(guestVM).WithContext(ctx).Should(And(
		HaveField("Spec.RunStrategy", HaveValue(Equal(kubevirtv1.RunStrategyAlways))),
		HaveField("Annotations", Not(HaveKey(infrav1.VMPowerStateAnnotation))),
		HaveField("Labels", Not(HaveKey(infrav1.VMStoppedLabel))),
	))
}

func expectGuestRuns(ctx context.Context, node string) {
	GinkgoHelper()
	expectGuestBack(ctx)
	_, err := cluster.AwaitVM(ctx, guestKey, node)
	Expect(err).NotTo(HaveOccurred())
}

// forbidToMoveGuest makes a person forbid that the guest is touched, until the returned function is called.
func forbidToMoveGuest(ctx context.Context, _ *upgrade) func(context.Context) {
	GinkgoHelper()
	label := func(ctx context.Context, policy infrav1.VMPolicy) {
		GinkgoHelper()
		_, err := theLab.WorkloadKubectl(ctx, "--namespace", guestKey.Namespace, "label", "--overwrite", "virtualmachine", guestKey.Name,
			infrav1.VMPolicyLabel+"="+string(policy))
		Expect(err).NotTo(HaveOccurred())
	}
	label(ctx, infrav1.VMPolicyBlock)
	return func(ctx context.Context) {
		GinkgoHelper()
		label(ctx, infrav1.VMPolicyShutdownAndRestore)
	}
}

// refuseStart makes the workload cluster reject the start of virtual machines that are off.
func refuseStart(ctx context.Context, _ *upgrade) func(context.Context) {
	GinkgoHelper()
	return refuse(ctx, theLab.WorkloadKube, policy{
		name: "no-start", group: kubevirtv1.GroupVersion.Group, resource: "virtualmachines", message: "the start is refused",
		expression: "oldObject.spec.runStrategy != 'Halted' || object.spec.runStrategy == 'Halted'",
	}, vm.New(guest))
}
