// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"maps"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	theLab *lab.Lab
	setup  *nspawn.Setup
	// first is the Node of the management cluster, and inside one of the workload cluster, into which that is moved.
	first = &podNode{nspawn.Node{
		Name: "pods-node", Link: "elpods0", Machine: "10.213.200.1", Address: "10.213.200.2", Services: "10.0.0.0/24", DNS: "10.0.0.10", Pods: "10.244.0.0/24",
	}}
	inside = &podNode{nspawn.Node{
		Name: "pods-inside", Link: "elpods1", Machine: "10.213.201.1", Address: "10.213.201.2", Services: lab.WorkloadServices, DNS: "10.0.1.10", Pods: "10.244.1.0/24",
	}}
)

func TestPods(t *testing.T) {
	specs.Run(t, "Pods")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if missing := nspawn.MissingForNodes(); missing != "" {
		Skip("the suite with managers as Pods is skipped: " + missing)
	}
	nspawn.LockNodes()
	setup = nspawn.New(nspawn.Options{Images: images(), Services: true})
	for _, each := range []*podNode{first, inside} {
		setup.ConnectNode(&each.Node)
	}
	nspawn.Answer(first.Address)
	theLab = suite.StartLab(ctx, lab.Options{PodsReach: first.Machine, WithoutKwok: true, Install: func(_ context.Context, l *lab.Lab) error {
		setup.StartNode(&first.Node, l.Management)
		return nil
	}})
})

// podNode is a Node of the cluster in which all managers are.
type podNode struct{ nspawn.Node }

// images of the suite by their names: those of the manifests, and its own.
func images() map[string]nspawn.Program {
	GinkgoHelper()
	found := nspawn.ManagerImages(tag)
	maps.Copy(found, nspawn.AddonImages("../../bin/tools/kubeadm"))
	found[nspawn.PauseImage] = nspawn.Program{From: "lab/pod", As: "/pod"}
	found["localhost/greeter:1"] = nspawn.Program{From: "lab/greeter", As: "/greeter"}
	return found
}

// kubectl runs kubectl on the first management cluster, and prints the command.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return first.kubectl(ctx, args...)
}

// kubectl runs kubectl on the cluster of the Node, and prints the command.
func (n *podNode) kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return setup.Kubectl(ctx, lab.AdminKubeconfig(n.Cluster), args...)
}
