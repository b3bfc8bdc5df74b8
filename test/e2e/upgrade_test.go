// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"path"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// The Machines of a cluster that are upgraded. Each is the suffix of their ElementalMachineTemplate's name.
const (
	ofControlPlane = "control-plane"
	ofWorkers      = "md-0"
)

// patchImage patches the image of a template, which is all that an operator does for an upgrade.
func (c *cluster) patchImage(ctx context.Context, which, image string) {
	GinkgoHelper()
	template := &infrav1.ElementalMachineTemplate{}
	template.Namespace, template.Name = c.namespace.Name, c.name+"-"+which
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageURI":%q}}}}}}`, image)
	Eventually(func() error {
		return c.managedBy.GetClient().Patch(ctx, template, client.RawPatch(types.MergePatchType, []byte(patch)))
	}, c.intervals("wait-cluster")...).WithContext(ctx).Should(Succeed())
}

// machines of the cluster: those of its control plane, or its workers.
func (c *cluster) machines(ctx context.Context, which string) []clusterv1.Machine {
	GinkgoHelper()
	found := []clusterv1.Machine{}
	for _, machine := range framework.GetMachinesByCluster(ctx, framework.GetMachinesByClusterInput{
		Lister: c.managedBy.GetClient(), ClusterName: c.name, Namespace: c.namespace.Name,
	}) {
		if util.IsControlPlaneMachine(&machine) == (which == ofControlPlane) {
			found = append(found, machine)
		}
	}
	return found
}

// awaitImage waits until Machines run on hosts that have booted an image, and Cluster API is not updating any of them.
func (c *cluster) awaitImage(ctx context.Context, which, image string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		booted := map[string]string{}
		for _, found := range c.hosts(ctx, g) {
			booted[found.Name] = found.Status.OS.ImageURI
		}
		machines := c.machines(ctx, which)
		g.Expect(machines).NotTo(BeEmpty())
		for _, machine := range machines {
			host := path.Base(machine.Spec.ProviderID) // elemental://NAMESPACE/HOST
			g.Expect(osversion.SameImage(booted[host], image)).To(BeTrue(), "host %s runs %q, wanted %q", host, booted[host], image)
			g.Expect(machine.Status.Phase).To(BeEquivalentTo(clusterv1.MachinePhaseRunning), "Machine %s", machine.Name)
			g.Expect(machine.Annotations).NotTo(HaveKey(clusterv1.UpdateInProgressAnnotation), "Machine %s", machine.Name)
		}
	}, c.intervals("wait-os-upgrade")...).WithContext(ctx).Should(Succeed())
}

// identity is what an in-place upgrade must not change.
type identity struct {
	Machine, Node        types.UID
	NodeName, ProviderID string
}

// identities of all Machines, by name.
func (c *cluster) identities(ctx context.Context) map[string]identity {
	GinkgoHelper()
	workload := c.managedBy.GetWorkloadCluster(ctx, c.namespace.Name, c.name)
	defer workload.Dispose(ctx)
	nodes := &corev1.NodeList{}
	Expect(workload.GetClient().List(ctx, nodes)).To(Succeed())
	uids := map[string]types.UID{}
	for i := range nodes.Items {
		uids[nodes.Items[i].Name] = nodes.Items[i].UID
	}
	found := map[string]identity{}
	for _, which := range []string{ofControlPlane, ofWorkers} {
		for _, machine := range c.machines(ctx, which) {
			node := machine.Status.NodeRef.Name
			found[machine.Name] = identity{Machine: machine.UID, Node: uids[node], NodeName: node, ProviderID: machine.Spec.ProviderID}
		}
	}
	return found
}

// attempts to upgrade hosts of the cluster to an image.
func (c *cluster) attempts(ctx context.Context, image string) ([]infrav1.ElementalHostUpgrade, error) {
	list := &infrav1.ElementalHostUpgradeList{}
	err := c.managedBy.GetClient().List(ctx, list, client.InNamespace(c.namespace.Name), client.MatchingLabels{clusterv1.ClusterNameLabel: c.name})
	found := []infrav1.ElementalHostUpgrade{}
	for i := range list.Items {
		if osversion.SameImage(list.Items[i].Spec.ImageURI, image) {
			found = append(found, list.Items[i])
		}
	}
	return found, err
}
