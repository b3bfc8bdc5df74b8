// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	patience = specs.Patience
	// calm is how long something must not happen.
	calm = 5 * time.Second

	nodeOne, nodeTwo = "node-1", "node-2"
)

// theLab is shared by all specs, and so are its nodes.
var (
	theLab *lab.Lab
	nodes  = map[string]*node{}
)

func TestKubeVirt(t *testing.T) {
	specs.Run(t, "KubeVirt")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab = suite.StartLab(ctx, lab.Options{WithoutProvider: true, KubeVirt: true})
	for _, name := range []string{nodeOne, nodeTwo} {
		kubelet, err := theLab.NodeOf(theLab.Workload, name)
		Expect(err).NotTo(HaveOccurred())
		nodes[name] = &node{name: name, kubelet: kubelet}
		nodes[name].switchOn("boot-1")
		DeferCleanup(nodes[name].cutOff)
	}
})

// node is a host whose kubelet a spec simulates.
type node struct {
	name    string
	kubelet host.Kubelet
	off     context.CancelFunc
	down    chan struct{}
}

func (n *node) switchOn(boot string) {
	ctx, cancel := context.WithCancel(context.Background())
	n.off, n.down = cancel, make(chan struct{})
	go func() {
		defer close(n.down)
		n.kubelet.Run(ctx, kubelet.Boot{
			Join: kubelet.Join{NodeName: n.name}, BootID: n.name + "-" + boot, MachineID: n.name, OSImage: "OS", KubeletVersion: "v1.36.3",
		})
	}()
}

// cutOff cuts the power.
func (n *node) cutOff() {
	n.off()
	<-n.down
}

// run creates a virtual machine on the first node, once that can run it, and waits until it runs
// there.
func run(ctx context.Context, spec vm.Spec) (client.ObjectKey, vm.State) {
	GinkgoHelper()
	Eventually(func() (string, error) { return vm.Unfit(ctx, theLab.WorkloadKube, nodeOne) }).Should(BeEmpty())
	spec.Prefer = nodeOne
	machine, err := vm.Create(ctx, theLab.WorkloadKube, spec)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(theLab.WorkloadKube.Delete(ctx, machine))).To(Succeed())
		Eventually(stateOf(ctx, client.ObjectKeyFromObject(machine))).Should(Equal(vm.State{}), "it goes")
	}, NodeTimeout(patience))
	key := client.ObjectKeyFromObject(machine)
	Eventually(stateOf(ctx, key)).Should(And(HaveField("Running()", BeTrue()), HaveField("Node", nodeOne)))
	state, err := vm.Look(ctx, theLab.WorkloadKube, key)
	Expect(err).NotTo(HaveOccurred())
	return key, state
}

func stateOf(ctx context.Context, key client.ObjectKey) func() (vm.State, error) {
	return func() (vm.State, error) { return vm.Look(ctx, theLab.WorkloadKube, key) }
}

func evict(ctx context.Context, key client.ObjectKey) error {
	return vm.Evict(ctx, theLab.WorkloadKube, key)
}
