// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package single_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	patience = specs.Patience
	// calm is how long something must not happen.
	calm = 6 * time.Second

	// node is the only one.
	node = "single-cp-1"
)

var (
	// cluster is shared by all specs, which run one after the other.
	cluster *scenario.Cluster
	// before is what must stay the same.
	before []scenario.Identity
)

func TestSingle(t *testing.T) {
	specs.Run(t, "Single Node")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	theLab := suite.StartLab(ctx, lab.Options{KubeVirt: true})
	cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "single", ControlPlane: 1, ControlPlaneMaxSurge: 1})
	Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
	_, err := cluster.WorkloadKubectl(ctx, "taint", "node", node, "node-role.kubernetes.io/control-plane-")
	Expect(err).NotTo(HaveOccurred(), "everything runs on the only Node")
	before, err = cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(func() {
	if cluster == nil {
		return
	}
	events := suite.Audit(cluster.Workload())
	Expect(audit.Cordons(events)).To(BeEmpty(), "the only Node of a cluster is never cordoned")
	Expect(audit.Evictions(events)).To(BeEmpty(), "and nothing is evicted from it")
	Expect(audit.Deleted(suite.Audit(cluster.Lab.Management), "machines")).To(BeEmpty())
})

// guest is a virtual machine, and how it was before.
type guest struct {
	key    client.ObjectKey
	before vm.State
}

// run creates a virtual machine that is live-migratable, and waits until it runs and is known to be.
func run(ctx context.Context, name string) guest {
	GinkgoHelper()
	spec := vm.Spec{Name: name, EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: node}
	key := client.ObjectKeyFromObject(vm.New(spec))
	_, err := cluster.CreateVM(ctx, spec)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Eventually(func() error { return cluster.WorkloadKube().Delete(ctx, vm.New(spec)) }).Should(Satisfy(apierrors.IsNotFound), "it goes")
	}, NodeTimeout(patience))
	Eventually(stateOf(ctx, key)).Should(And(HaveField("Migratable", BeTrue()), HaveField("Running()", BeTrue())))
	state, err := cluster.VM(ctx, key)
	Expect(err).NotTo(HaveOccurred())
	return guest{key: key, before: state}
}

func stateOf(ctx context.Context, key client.ObjectKey) func() (vm.State, error) {
	return func() (vm.State, error) { return cluster.VM(ctx, key) }
}

// machineOf reads a VirtualMachine.
func machineOf(ctx context.Context, of guest) func() (*kubevirtv1.VirtualMachine, error) {
	return func() (*kubevirtv1.VirtualMachine, error) {
		machine := &kubevirtv1.VirtualMachine{}
		return machine, cluster.WorkloadKube().Get(ctx, of.key, machine)
	}
}

// attemptFor an image; an empty one if there is none.
func attemptFor(ctx context.Context, wanted image.Image) func() (*infrav1.ElementalHostUpgrade, error) {
	return func() (*infrav1.ElementalHostUpgrade, error) {
		attempts, err := cluster.Attempts(ctx)
		for i := range attempts {
			if attempts[i].Spec.ImageURI == wanted.URI() {
				return &attempts[i], nil
			}
		}
		return &infrav1.ElementalHostUpgrade{}, err
	}
}
