// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// addHost makes a host that is free and in a failure domain.
func addHost(ctx SpecContext, namespace, name, domain string, changes ...func(*infrav1.ElementalHost)) *infrav1.ElementalHost {
	GinkgoHelper()
	host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{association.FailureDomainLabel: domain, infrav1.InstalledLabel: "true"},
	}}
	host.Spec.Approved = true
	for _, change := range changes {
		change(host)
	}
	Expect(server.Client.Create(ctx, host)).To(Succeed())
	return host
}

// addControlPlane makes a control plane whose machines need hosts with the label role=control-plane.
func addControlPlane(ctx SpecContext, owner *clusterv1.Cluster) {
	GinkgoHelper()
	addControlPlaneTemplate(ctx, owner)
	addKubeadmControlPlane(ctx, owner, map[string]string{clusterv1.ClusterNameLabel: owner.Name})
}

func addControlPlaneTemplate(ctx SpecContext, owner *clusterv1.Cluster) {
	GinkgoHelper()
	template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: "cp"}}
	template.Spec.Template.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": "control-plane"}}
	Expect(server.Client.Create(ctx, template)).To(Succeed())
}

func addKubeadmControlPlane(ctx SpecContext, owner *clusterv1.Cluster, labels map[string]string) *controlplanev1.KubeadmControlPlane {
	GinkgoHelper()
	kcp := &controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: "cp", Labels: labels}}
	kcp.Spec.Version = "v1.36.0"
	kcp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachineTemplate", Name: "cp",
	}
	Expect(server.Client.Create(ctx, kcp)).To(Succeed())
	return kcp
}

func haveDomains(domains ...clusterv1.FailureDomain) OmegaMatcher {
	return HaveField("Status.FailureDomains", ConsistOf(domains))
}

func domain(name string, controlPlane bool) clusterv1.FailureDomain {
	return clusterv1.FailureDomain{Name: name, ControlPlane: ptr.To(controlPlane)}
}

// makeLedCluster makes a Cluster that names a KubeadmControlPlane, which does not exist, and its ElementalCluster.
func makeLedCluster(ctx SpecContext) (*clusterv1.Cluster, *infrav1.ElementalCluster) {
	GinkgoHelper()
	owner, object := makeCluster(ctx)
	apiserver.Change(ctx, server.Client, owner, func() {
		owner.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: "cp",
		}
	})
	own(ctx, owner, object)
	return owner, object
}

var _ = Describe("Failure domains", func() {
	forControlPlane := func(h *infrav1.ElementalHost) { h.Labels["role"] = "control-plane" }

	It("are those of the hosts that the cluster has or can have", func(ctx SpecContext) {
		owner, object := makeCluster(ctx)
		own(ctx, owner, object)
		addHost(ctx, owner.Namespace, "free", "a")
		addHost(ctx, owner.Namespace, "ours", "b", func(h *infrav1.ElementalHost) {
			h.Labels[clusterv1.ClusterNameLabel], h.Labels[infrav1.BootstrappedLabel] = owner.Name, "true"
		})
		addHost(ctx, owner.Namespace, "theirs", "c", func(h *infrav1.ElementalHost) { h.Labels[clusterv1.ClusterNameLabel] = "other" })
		addHost(ctx, owner.Namespace, "unapproved", "d", func(h *infrav1.ElementalHost) { h.Spec.Approved = false })
		addHost(ctx, owner.Namespace, "nowhere", "")
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("a", true), domain("b", false)))

		By("following a host to another domain")
		host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: "free"}}
		apiserver.Change(ctx, server.Client, host, func() { host.Labels[association.FailureDomainLabel] = "e" })
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("b", false), domain("e", true)))
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("b", false)))
	})

	It("are for the control plane where it can have, or has, a host", func(ctx SpecContext) {
		owner, object := makeLedCluster(ctx)
		addHost(ctx, owner.Namespace, "h1", "a", forControlPlane)
		addHost(ctx, owner.Namespace, "h2", "b")
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("a", false), domain("b", false)), "no control plane is known yet")
		addControlPlane(ctx, owner)
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("a", true), domain("b", false)))

		machine := &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: "m1", Labels: map[string]string{
			clusterv1.ClusterNameLabel: owner.Name, clusterv1.MachineControlPlaneLabel: "",
		}}}
		machine.Spec.HostRef = &infrav1.LocalReference{Name: "h2"}
		Expect(server.Client.Create(ctx, machine)).To(Succeed())
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("a", true), domain("b", true)))
	})

	It("are for a control plane that people made without the label by which Cluster API makes it the Cluster's", func(ctx SpecContext) {
		owner, object := makeLedCluster(ctx)
		addControlPlaneTemplate(ctx, owner)
		addHost(ctx, owner.Namespace, "h1", "a", forControlPlane)
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("a", false)), "no control plane is known yet")
		settled(ctx, object)
		kcp := addKubeadmControlPlane(ctx, owner, nil)
		Eventually(func() error {
			return cached.Get(ctx, client.ObjectKeyFromObject(kcp), &controlplanev1.KubeadmControlPlane{})
		}).Should(Succeed())
		before := kcp.DeepCopy()
		kcp.Labels = map[string]string{clusterv1.ClusterNameLabel: owner.Name}
		Expect(server.Client.Patch(ctx, kcp, client.MergeFrom(before))).To(Succeed())
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("a", true)))
	})

	It("do not count a label that the host proposed itself for the control plane's selector", func(ctx SpecContext) {
		owner, object := makeLedCluster(ctx)
		addControlPlane(ctx, owner)
		host := addHost(ctx, owner.Namespace, "h1", "a", forControlPlane, func(h *infrav1.ElementalHost) {
			h.Annotations = map[string]string{infrav1.ProposedLabelsAnnotation: "role"}
		})
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("a", false)))
		apiserver.Change(ctx, server.Client, host, func() { delete(host.Annotations, infrav1.ProposedLabelsAnnotation) })
		Eventually(server.Stored(ctx, object)).Should(haveDomains(domain("a", true)))
	})
})

var _ = Describe("A control plane endpoint", func() {
	It("may be provided by others, in the Cluster", func(ctx SpecContext) {
		owner, object := makeCluster(ctx)
		own(ctx, owner, object)
		Eventually(server.Stored(ctx, object)).Should(
			apiserver.HaveCondition(infrav1.ControlPlaneEndpointReadyCondition, metav1.ConditionFalse, infrav1.MissingControlPlaneEndpointReason))
		apiserver.Change(ctx, server.Client, owner, func() { owner.Spec.ControlPlaneEndpoint = endpoint })
		Eventually(server.Stored(ctx, object)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.ControlPlaneEndpointReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
			HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())),
			HaveField("Spec.ControlPlaneEndpoint", BeZero()),
		))
		Expect(client.IgnoreNotFound(server.Client.Delete(ctx, owner))).To(Succeed())
	})
})
