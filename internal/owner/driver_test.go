// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

var _ = DescribeTable("What upgrades the host of a Machine of", func(controlPlane, kind string, ofPool bool, driver infrav1.UpgradeDriver, name string) {
	namespace := plane.NewNamespace(ctx)
	cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
	if cluster.Spec.ControlPlaneRef = (clusterv1.ContractVersionedObjectReference{}); controlPlane != "" {
		cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "rke.cattle.io", Kind: controlPlane, Name: "c"}
	}
	plane.Create(ctx, cluster, elemental)
	md := ownertest.MachineDeployment(namespace, "md", "c", "t", 1)
	plane.Create(ctx, md)
	set := ownertest.MachineSet(md, "ms", "t", 1)
	plane.Create(ctx, set)
	machine := ownertest.Machine(set, "m")
	if !ofPool {
		machine.Labels, machine.OwnerReferences = nil, nil
	}
	if kind != "" {
		machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, controlplanev1.GroupVersion.WithKind(kind))}
	}
	Expect(owner.DriverOf(ctx, ownersAt(0).Client, machine)).To(Equal(driver))
	Expect(owner.NameOf(machine)).To(Equal(name))
},
	Entry("a MachineDeployment", "", "", true, infrav1.DriverDirect, "MachineDeployment md"),
	Entry("a MachineDeployment in a Cluster of Rancher", "RKEControlPlane", "", true, infrav1.DriverRancherDrain, "MachineDeployment md"),
	Entry("a MachineSet of its own", "", "MachineSet", false, infrav1.DriverDirect, "MachineSet ms"),
	Entry("a KubeadmControlPlane", "", "KubeadmControlPlane", false, infrav1.DriverDirect, "KubeadmControlPlane ms"),
	Entry("an RKE2ControlPlane", "", "RKE2ControlPlane", false, infrav1.DriverDirect, "RKE2ControlPlane ms"),
	Entry("a control plane of another kind", "", "K3sControlPlane", false, infrav1.DriverDirect, "K3sControlPlane ms"),
	Entry("none", "", "", false, infrav1.DriverDirect, "Machine m"),
	Entry("none, in a Cluster of Rancher", "RKEControlPlane", "", false, infrav1.DriverDirect, "Machine m"),
)
