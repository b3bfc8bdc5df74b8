// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

var _ = DescribeTable("DriverOf", func(kind string, replicas int32, option infrav1.UpgradeDriver, expected types.GomegaMatcher) {
	namespace := plane.NewNamespace(ctx)
	cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{Driver: option})
	plane.Create(ctx, cluster, elemental)
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"}, Spec: clusterv1.MachineSpec{ClusterName: "c"}}
	switch kind {
	case "":
	case owner.KubeadmControlPlaneKind:
		kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "t")
		kcp.Spec.Replicas = ptr.To(replicas)
		plane.Create(ctx, kcp)
		machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(kcp, controlplanev1.GroupVersion.WithKind(kind))}
	case owner.MachineDeploymentKind:
		machine.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: "md"}
		machine.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: "ms", Controller: ptr.To(true)}}
	default:
		machine.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "cp", Controller: ptr.To(true)}}
	}
	Expect(ownersAt(0).DriverOf(ctx, machine)).To(expected)
},
	Entry("a large KubeadmControlPlane", owner.KubeadmControlPlaneKind, int32(3), infrav1.DriverAuto, by(infrav1.DriverClusterAPI, "KubeadmControlPlane cp")),
	Entry("a small one", owner.KubeadmControlPlaneKind, int32(2), infrav1.DriverAuto, by(infrav1.DriverDirect, "KubeadmControlPlane cp")),
	Entry("a small one, by default", owner.KubeadmControlPlaneKind, int32(1), infrav1.UpgradeDriver(""), by(infrav1.DriverDirect, "KubeadmControlPlane cp")),
	Entry("a small one that is left to Cluster API", owner.KubeadmControlPlaneKind, int32(1), infrav1.DriverClusterAPI, by(infrav1.DriverClusterAPI, "KubeadmControlPlane cp")),
	Entry("a large one that is not", owner.KubeadmControlPlaneKind, int32(3), infrav1.DriverDirect, by(infrav1.DriverDirect, "KubeadmControlPlane cp")),
	Entry("a control plane of another kind", "K3sControlPlane", int32(0), infrav1.DriverAuto, by(infrav1.DriverDirect, "K3sControlPlane cp")),
	Entry("one that is left to Cluster API", "K3sControlPlane", int32(0), infrav1.DriverClusterAPI, HaveField("Problem", "K3sControlPlane cp cannot be updated in place by "+
		"Cluster API, and driver is ClusterAPI in spec.nodeUpgradeOption of ElementalCluster c: the Machines keep their OS. Set driver Auto or Direct")),
	Entry("a MachineDeployment", owner.MachineDeploymentKind, int32(0), infrav1.DriverAuto, by(infrav1.DriverClusterAPI, "MachineDeployment md")),
	Entry("one that is left to this provider", owner.MachineDeploymentKind, int32(0), infrav1.DriverDirect, by(infrav1.DriverDirect, "MachineDeployment md")),
	Entry("a MachineSet alone", "MachineSet", int32(0), infrav1.DriverAuto, by(infrav1.DriverDirect, "MachineSet cp")),
	Entry("one that is left to Cluster API", "MachineSet", int32(0), infrav1.DriverClusterAPI, HaveField("Problem", HavePrefix("MachineSet cp cannot be updated in place by Cluster API"))),
	Entry("nobody", "", int32(0), infrav1.DriverAuto, by(infrav1.DriverDirect, "Machine m")),
)

var _ = It("The driver of a Cluster whose ElementalCluster does not exist yet is that by default", func() {
	namespace := plane.NewNamespace(ctx)
	cluster, _ := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
	plane.Create(ctx, cluster)
	Expect(ownersAt(0).DriverOfMachineDeployment(ctx, namespace, "c", "md")).To(by(infrav1.DriverClusterAPI, "MachineDeployment md"))
})

func by(driver infrav1.UpgradeDriver, of string) types.GomegaMatcher {
	return And(HaveField("Driver", driver), HaveField("Owner", of), HaveField("Problem", ""))
}
