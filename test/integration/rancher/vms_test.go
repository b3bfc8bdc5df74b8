// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"maps"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("Virtual machines", func() {
	It("have left a Node before Rancher drains it", func(ctx SpecContext) {
		cluster := suite.NewCluster(ctx, theLab, scenario.Options{Name: "guests", Rancher: true, ControlPlane: 1, Workers: 2, DrainOptions: withHooks})
		spec := vm.Spec{Name: "pet", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: cluster.HostName(1)}
		key := client.ObjectKeyFromObject(vm.New(spec))
		_, err := cluster.CreateVM(ctx, spec)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() (vm.State, error) { return cluster.VM(ctx, key) }).Should(And(HaveField("Migratable", BeTrue()), HaveField("Running()", BeTrue())))
		was, err := cluster.VM(ctx, key)
		Expect(err).NotTo(HaveOccurred())

		where := vmWhenAnswered(ctx, cluster, key)
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		roll(ctx, cluster)
		Eventually(ends, 2*specs.Patience).WithContext(ctx).WithArguments(cluster, wanted).Should(And(HaveLen(2), HaveEach(infrav1.UpgradeSucceeded)))
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Expect(cluster.VM(ctx, key)).To(And(HaveField("UID", Equal(was.UID)), HaveField("Running()", BeTrue())), "it was moved, and never stopped")
		machines, err := cluster.PoolMachines(ctx, scenario.Deployment)
		Expect(err).NotTo(HaveOccurred())
		for _, machine := range machines {
			Expect(where()).To(HaveKeyWithValue(machine.Name, And(Not(BeEmpty()), Not(Equal(machine.Status.NodeRef.Name)))),
				"it had left the Node of Machine %s when Rancher was let drain that", machine.Name)
		}
	}, SpecTimeout(4*specs.Patience))
})

// vmWhenAnswered notes on which Node a virtual machine is when the pre-drain hook of each Machine is answered.
func vmWhenAnswered(ctx context.Context, cluster *scenario.Cluster, key client.ObjectKey) func() map[string]string {
	GinkgoHelper()
	mu, found := sync.Mutex{}, map[string]string{}
	suite.Changes(ctx, theLab.Kube, &corev1.SecretList{}, func(event watch.Event) bool {
		secret, isOne := event.Object.(*corev1.Secret)
		if !isOne || secret.Annotations[infrav1.RancherPreDrainAnnotation] == "" {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		name := secret.Labels[rancher.MachineNameLabel]
		if _, isNoted := found[name]; !isNoted {
			state, err := cluster.VM(context.WithoutCancel(ctx), key)
			Expect(err).NotTo(HaveOccurred())
			found[name] = state.Node
		}
		return false
	}, client.InNamespace(cluster.Namespace()), client.HasLabels{rancher.MachineNameLabel})
	return func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(found)
	}
}
