// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package virtoperator_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is for the operator to deploy or upgrade everything on a busy machine.
	patience = specs.Patience
	// calm is how long something must not happen.
	calm = 20 * time.Second

	nodeOne, nodeTwo = "node-1", "node-2"
)

// theLab is shared by all specs, and so are its nodes.
var (
	theLab *lab.Lab
	nodes  = map[string]*node{}
)

func TestVirtOperator(t *testing.T) {
	specs.Run(t, "virt-operator")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if missing := kubevirt.Missing(filepath.Join(specs.Root(), "bin", "tools")); missing != "" {
		Skip(missing)
	}
	theLab = suite.StartLab(ctx, lab.Options{WithoutProvider: true, VirtOperator: true})
	for _, name := range []string{nodeOne, nodeTwo} {
		kubelet, err := theLab.NodeOf(theLab.Workload, name)
		Expect(err).NotTo(HaveOccurred())
		nodes[name] = &node{name: name, kubelet: kubelet}
		DeferCleanup(nodes[name].cutOff)
	}
	nodes[nodeOne].switchOn("boot-1")
	// The control plane of KubeVirt is on the first node, which stays up.
	Expect(theLab.KubeVirt.AwaitDeployed(ctx, kubevirt.Version)).To(Succeed())
	nodes[nodeTwo].switchOn("boot-1")
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

// cutOff cuts the power, if it is on.
func (n *node) cutOff() {
	if n.off == nil {
		return
	}
	n.off()
	<-n.down
}
