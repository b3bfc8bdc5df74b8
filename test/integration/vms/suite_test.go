// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vms_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	patience = specs.Patience
	// calm is how long something must not happen.
	calm = 6 * time.Second

	nodeOne, nodeTwo, nodeThree = "demo-node-1", "demo-node-2", "demo-node-3"
)

// cluster is shared by all specs, which run one after the other.
var cluster *scenario.Cluster

func TestVMs(t *testing.T) {
	specs.Run(t, "Virtual Machines")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	cluster = suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{KubeVirt: true, WorkloadAccount: true}), scenario.Options{})
})

// guest is a virtual machine, and how it was before.
type guest struct {
	key    client.ObjectKey
	before vm.State
}

// run creates a virtual machine and waits until it runs on the requested node.
func run(ctx context.Context, spec vm.Spec) guest {
	GinkgoHelper()
	key := client.ObjectKeyFromObject(vm.New(spec))
	before, err := cluster.CreateVM(ctx, spec)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(cluster.WorkloadKube().Delete(ctx, vm.New(spec)))).To(Succeed())
		Eventually(stateOf(ctx, key)).Should(Equal(vm.State{}), "it goes")
	}, NodeTimeout(patience))
	if before.Migratable == (spec.Asks[hypervisor.NotMigratable] != "") {
		Eventually(stateOf(ctx, key)).Should(HaveField("Migratable", spec.Asks[hypervisor.NotMigratable] == ""))
		before, err = cluster.VM(ctx, key)
		Expect(err).NotTo(HaveOccurred())
	}
	return guest{key: key, before: before}
}

func stateOf(ctx context.Context, key client.ObjectKey) func() (vm.State, error) {
	return func() (vm.State, error) { return cluster.VM(ctx, key) }
}

// machineOf reads a VirtualMachine.
func machineOf(ctx context.Context, g guest) func() (*kubevirtv1.VirtualMachine, error) {
	return func() (*kubevirtv1.VirtualMachine, error) {
		machine := &kubevirtv1.VirtualMachine{}
		return machine, cluster.WorkloadKube().Get(ctx, g.key, machine)
	}
}

// upgrade starts a rollout.
func upgrade(ctx context.Context) image.Image {
	GinkgoHelper()
	wanted := suite.Push(ctx, cluster, image.OS{})
	Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
	return wanted
}

// mayStop allows virtual machines that cannot be migrated to be stopped, so that one that is not stopped was spared on
// purpose.
func mayStop(ctx context.Context) {
	GinkgoHelper()
	Expect(cluster.PatchUpgradeOption(ctx, `{"vmPolicy":"ShutdownAndRestore"}`)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.PatchUpgradeOption(ctx, `{"vmPolicy":null}`)).To(Succeed()) })
}

// attemptOn is the attempt to upgrade a node to an image; an empty one if there is none.
func attemptOn(ctx context.Context, node string, wanted image.Image) func() (*infrav1.ElementalHostUpgrade, error) {
	return func() (*infrav1.ElementalHostUpgrade, error) {
		attempts, err := cluster.Attempts(ctx)
		for i := range attempts {
			if attempts[i].Spec.HostName == node && attempts[i].Spec.ImageURI == wanted.URI() {
				return &attempts[i], nil
			}
		}
		return &infrav1.ElementalHostUpgrade{}, err
	}
}

// decisionOf is what an attempt reports about a virtual machine.
func decisionOf(g guest, decision infrav1.VMDecision, reason string) any {
	return infrav1.VirtualMachineStatus{Namespace: g.key.Namespace, Name: g.key.Name, Decision: decision, Reason: reason}
}

// expectNothingLeft asserts that no object has a mark of an evacuation.
func expectNothingLeft(ctx context.Context) {
	GinkgoHelper()
	machines, migrations := &kubevirtv1.VirtualMachineList{}, &kubevirtv1.VirtualMachineInstanceMigrationList{}
	instances := &kubevirtv1.VirtualMachineInstanceList{}
	for _, list := range []client.ObjectList{machines, migrations, instances} {
		Expect(cluster.WorkloadKube().List(ctx, list)).To(Succeed())
	}
	for i := range machines.Items {
		Expect(machines.Items[i].Annotations).NotTo(HaveKey(infrav1.VMPowerStateAnnotation))
		Expect(machines.Items[i].Labels).NotTo(HaveKey(infrav1.VMStoppedLabel))
	}
	for i := range instances.Items {
		Expect(instances.Items[i].Status.EvacuationNodeName).To(BeEmpty(), instances.Items[i].Name)
	}
	for i := range migrations.Items {
		Expect(migrations.Items[i].Labels).NotTo(HaveKey(infrav1.EvacuationLabel))
	}
	nodes, err := cluster.Nodes(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range nodes {
		Expect(nodes[i].Spec.Unschedulable).To(BeFalse(), nodes[i].Name)
		Expect(nodes[i].Spec.Taints).NotTo(ContainElement(HaveField("Key", kubevirt.DrainTaint)))
		Expect(nodes[i].Annotations).NotTo(HaveKey(infrav1.EvacuatedByAnnotation))
	}
}
