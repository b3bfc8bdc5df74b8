// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
)

// authority is the Secret with the CA that hosts pin.
var authority = client.ObjectKey{Namespace: lab.ManagerNamespace, Name: "elemental-api-ca"}

// prepareInside installs all managers in the workload cluster, as docs/move.md says.
func prepareInside(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	setup.StartNode(&inside.Node, theLab.Workload)
	inside.kubectl(ctx, "taint", "node", cluster.HostName(1), "lab=simulated:NoSchedule") // no Pods run there
	inside.await(ctx)
	inside.kubectl(ctx, "create", "namespace", authority.Namespace)
	pinned := &corev1.Secret{}
	Expect(theLab.Kube.Get(ctx, authority, pinned)).To(Succeed())
	pinned.ObjectMeta = metav1.ObjectMeta{Namespace: authority.Namespace, Name: authority.Name, Labels: pinned.Labels, Annotations: pinned.Annotations}
	Expect(theLab.WorkloadKube.Create(ctx, pinned)).To(Succeed())
	inside.install(ctx)
}

// moveTo moves the cluster to the management cluster of another Node, where its hosts are to find the Elemental API.
func (n *podNode) moveTo(ctx context.Context, to *podNode, moved *scenario.Cluster) {
	GinkgoHelper()
	Expect(moved.Lab.CreateNamespace(ctx, moved.Namespace())).To(Succeed())
	n.clusterctl(ctx, "move", "--namespace", moved.Namespace(), "--to-kubeconfig", lab.AdminKubeconfig(to.Cluster))
	Expect(moved.Lab.InitializeControlPlane(ctx, moved.Namespace(), moved.Options.Name)).To(Succeed())
	nspawn.Answer(to.Address)
	n.kubectl(ctx, "delete", "elementalhosts", "--all", "--namespace", moved.Namespace()) // of a host that called meanwhile
	Expect(n.kubectl(ctx, "get", "clusters,machines,elementalclusters,elementalmachines,elementalhosts,elementalregistrations",
		"--namespace", moved.Namespace(), "--output", "name")).To(BeEmpty())
}

// upgrade the host of a cluster in place.
func upgrade(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	before, boots := identities(ctx, cluster), len(theLab.Host(cluster.HostName(1)).Boots())
	wanted := suite.Push(ctx, cluster, image.OS{})
	Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
	Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	Expect(theLab.Host(cluster.HostName(1)).Boots()).To(HaveLen(boots+1), "one reboot")
	Expect(identities(ctx, cluster)).To(Equal(before))
}

func identities(ctx context.Context, cluster *scenario.Cluster) []scenario.Identity {
	GinkgoHelper()
	found, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	return found
}
