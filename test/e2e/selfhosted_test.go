// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Namespace of the release, and the Secret with the CA that hosts trust.
const (
	providerNamespace = "elemental-system"
	apiAuthority      = "elemental-api-ca"
)

var _ = Describe("A cluster that manages itself", Label("self-hosted"), func() {
	It("is moved into itself, upgraded from there, and moved back, with the same Nodes", func(ctx SpecContext) {
		if reason := env.immovable(); reason != "" {
			Skip(reason)
		}
		made := newCluster(ctx, shape{spec: "self-hosted", flavor: "kubeadm", controlPlane: 1, workers: 1})
		before := nodeNames(made.identities(ctx))
		itself := management.GetWorkloadCluster(ctx, made.namespace.Name, made.name)
		defer itself.Dispose(ctx)

		By("installing the release there, with the CA that hosts trust")
		copyAuthority(ctx, management, itself)
		env.install(ctx, itself)

		By("moving the cluster there")
		made.move(ctx, itself)
		By("upgrading its worker from there, which drains the managers")
		wanted, worker := config.MustGetVariable(imageUpgrade), made.machines(ctx, ofWorkers)[0].Status.NodeRef.Name
		managers := managersOn(ctx, itself, worker)
		Expect(managers).NotTo(BeEmpty(), "managers run on the worker")
		made.patchImage(ctx, ofWorkers, wanted)
		made.awaitImage(ctx, ofWorkers, wanted)
		Expect(made.attempts(ctx, wanted)).To(HaveLen(1), "the control plane is left alone")
		Expect(managersOn(ctx, itself, worker)).NotTo(ContainElement(BeElementOf(managers)), "they were drained")
		Expect(nodeNames(made.identities(ctx))).To(Equal(before))
		By("moving the cluster back, because it could not delete itself")
		made.move(ctx, management)
		Expect(nodeNames(made.identities(ctx))).To(Equal(before))
	})
})

// managersOn are the Pods of all managers on a Node.
func managersOn(ctx context.Context, of framework.ClusterProxy, node string) []types.UID {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(of.GetClient().List(ctx, pods, client.HasLabels{clusterv1.ProviderNameLabel})).To(Succeed())
	var found []types.UID
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == node {
			found = append(found, pods.Items[i].UID)
		}
	}
	return found
}

// nodeNames are the part of identities that stays the same when objects are recreated in another cluster.
func nodeNames(identities map[string]identity) map[string]string {
	names := map[string]string{}
	for machine, one := range identities {
		names[machine] = one.NodeName
	}
	return names
}

// copyAuthority makes cert-manager adopt the CA of the Elemental API, as docs/move.md says.
func copyAuthority(ctx context.Context, from, to framework.ClusterProxy) {
	GinkgoHelper()
	known := &corev1.Secret{}
	Expect(from.GetClient().Get(ctx, client.ObjectKey{Namespace: providerNamespace, Name: apiAuthority}, known)).To(Succeed())
	framework.EnsureNamespace(ctx, to.GetClient(), providerNamespace)
	Expect(to.GetClient().Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: apiAuthority}, Type: known.Type, Data: known.Data,
	})).To(Succeed())
}

// awaitRolledOut waits until Cluster API has deleted the MachineSet that a rollout has left: clusterctl fails if it does so after the
// objects to move were listed.
func (c *cluster) awaitRolledOut(ctx context.Context) {
	GinkgoHelper()
	sets := &clusterv1.MachineSetList{}
	Eventually(func() ([]clusterv1.MachineSet, error) {
		err := c.managedBy.GetClient().List(ctx, sets, client.InNamespace(c.namespace.Name))
		return sets.Items, err
	}, c.intervals("wait-os-upgrade")...).WithContext(ctx).Should(HaveLen(1))
}

// move moves the cluster to a management cluster, and waits until its hosts and Machines are healthy there.
func (c *cluster) move(ctx context.Context, to framework.ClusterProxy) {
	GinkgoHelper()
	from := c.managedBy
	c.awaitRolledOut(ctx)
	framework.CreateNamespace(ctx, framework.CreateNamespaceInput{
		Creator: to.GetClient(), Name: c.namespace.Name, IgnoreAlreadyExists: true,
		Labels: map[string]string{infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled},
	}, c.intervals("wait-cluster")...)
	clusterctl.Move(ctx, clusterctl.MoveInput{
		LogFolder: filepath.Join(artifacts, "clusters", from.GetName()), ClusterctlConfigPath: clusterctlConfig,
		FromKubeconfigPath: from.GetKubeconfigPath(), ToKubeconfigPath: to.GetKubeconfigPath(), Namespace: c.namespace.Name,
	})
	c.managedBy = to
	env.routeAPITo(ctx, to)
	Eventually(func(g Gomega) {
		list := &infrav1.ElementalHostList{}
		g.Expect(to.GetClient().List(ctx, list, client.InNamespace(c.namespace.Name))).To(Succeed())
		g.Expect(list.Items).To(HaveLen(int(c.controlPlane + c.workers)))
		for i := range list.Items {
			g.Expect(list.Items[i].Status.OS.BootID).NotTo(BeEmpty(), "host %s has said again what it runs", list.Items[i].Name)
		}
	}, c.intervals("wait-hosts")...).WithContext(ctx).Should(Succeed())
	framework.VerifyMachinesReady(ctx, framework.VerifyMachinesReadyInput{
		Lister: to.GetClient(), Namespace: c.namespace.Name, Name: c.name,
	})
	// A host may have called the former management cluster once more in between.
	Expect(from.GetClient().DeleteAllOf(ctx, &infrav1.ElementalHost{}, client.InNamespace(c.namespace.Name))).To(Succeed())
}
