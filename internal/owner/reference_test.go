// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

var _ = DescribeTable("TemplateName", func(expected string, change func(*clusterv1.ContractVersionedObjectReference)) {
	md := ownertest.MachineDeployment("ns", "md", "c", "t", 1)
	change(&md.Spec.Template.Spec.InfrastructureRef)
	Expect(owner.TemplateName(owner.ForMachineDeployment(md))).To(Equal(expected))
},
	Entry("ours", "t", func(*clusterv1.ContractVersionedObjectReference) {}),
	Entry("the same kind of another group", "", func(ref *clusterv1.ContractVersionedObjectReference) { ref.APIGroup = "other.io" }),
	Entry("another kind of our group", "", func(ref *clusterv1.ContractVersionedObjectReference) { ref.Kind = "ElementalClusterTemplate" }),
)

var _ = DescribeTable("SameReference", func(expected bool, template string) {
	a, b := ownertest.MachineDeployment("ns", "a", "c", "t", 1), ownertest.MachineDeployment("ns", "b", "c", template, 1)
	Expect(owner.SameReference(owner.ForMachineDeployment(a), owner.ForMachineDeployment(b))).To(Equal(expected))
},
	Entry("to the same template", true, "t"),
	Entry("to another", false, "other"),
)

var _ = It("Owners have resources by their kinds", func() {
	a := ownertest.MachineDeployment("ns", "a", "c", "t", 1)
	Expect(owner.Resource(owner.ForMachineDeployment(a)).Resource).To(Equal("machinedeployments"))
	kcp := ownertest.KubeadmControlPlane("ns", "cp", "c", "t")
	Expect(owner.Resource(owner.ForKubeadmControlPlane(kcp)).Resource).To(Equal("kubeadmcontrolplanes"))
})

var _ = DescribeTable("Pauses", func(expected bool, before, after *bool) {
	was, is := ownertest.MachineDeployment("ns", "md", "c", "t", 1), ownertest.MachineDeployment("ns", "md", "c", "t", 1)
	was.Spec.Paused, is.Spec.Paused = before, after
	kcp := owner.ForKubeadmControlPlane(ownertest.KubeadmControlPlane("ns", "cp", "c", "t"))
	Expect(owner.Pauses(owner.ForMachineDeployment(was), owner.ForMachineDeployment(is))).To(Equal(expected))
	Expect(owner.Pauses(kcp, owner.ForMachineDeployment(is))).To(BeFalse())
	Expect(owner.Pauses(owner.ForMachineDeployment(was), kcp)).To(BeFalse())
},
	Entry("not paused before, paused now", true, nil, ptr.To(true)),
	Entry("paused before and now", false, ptr.To(true), ptr.To(true)),
	Entry("neither paused before nor now", false, nil, nil),
	Entry("paused before, not paused now", false, ptr.To(true), ptr.To(false)),
)

var _ = DescribeTable("Unknown reports why it is unknown what an owner wants:", func(expected OmegaMatcher, prepare func(machine *clusterv1.Machine, set *clusterv1.MachineSet)) {
	namespace := plane.NewNamespace(ctx)
	md := ownertest.MachineDeployment(namespace, "md", "c", "t", 1)
	md.UID = "md"
	set := ownertest.MachineSet(md, "ms", "t", 1)
	set.UID = "ms"
	machine := ownertest.Machine(set, "m")
	prepare(machine, set)
	want, found, err := owner.WantsOS(ctx, ownersAt(0).Client, machine)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeFalse())
	Expect(want.Unknown(machine)).To(expected)
},
	Entry("there is no owner", Equal("Machine m has no owner that determines its OS: "+
		"nothing is rolled out to it for a patched template: see condition RolloutBlocked of the ElementalMachineTemplate that it was made from"),
		func(machine *clusterv1.Machine, _ *clusterv1.MachineSet) { machine.OwnerReferences = nil }),
	Entry("the owner is of another kind", Equal("cannot determine the OS that KThreesControlPlane cp, the owner of Machine m, wants: "+
		"nothing is rolled out to it for a patched template: see condition RolloutBlocked of the ElementalMachineTemplate that it was made from"),
		func(machine *clusterv1.Machine, _ *clusterv1.MachineSet) {
			ownedBy(machine, "KThreesControlPlane", "cp")
		}),
	Entry("the MachineSet does not exist", Equal("MachineSet ms, the owner of Machine m, or its MachineDeployment does not exist: "+
		"recreate it, or delete the Machine"), func(*clusterv1.Machine, *clusterv1.MachineSet) {}),
	Entry("the MachineDeployment does not exist", Equal("MachineSet ms, the owner of Machine m, or its MachineDeployment does not exist: "+
		"recreate it, or delete the Machine"), func(_ *clusterv1.Machine, set *clusterv1.MachineSet) { plane.Create(ctx, set) }),
	Entry("the control plane does not exist", Equal("KubeadmControlPlane cp, the owner of Machine m, does not exist: "+
		"recreate it, or delete the Machine"),
		func(machine *clusterv1.Machine, _ *clusterv1.MachineSet) {
			ownedBy(machine, "KubeadmControlPlane", "cp")
		}),
	Entry("a stand-alone MachineSet names no template of ours", HavePrefix("MachineSet ms, the owner of Machine m, or its MachineDeployment "+
		"names OtherMachineTemplate x of other.io in its infrastructureRef"),
		func(_ *clusterv1.Machine, set *clusterv1.MachineSet) {
			set.OwnerReferences = nil
			set.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "other.io", Kind: "OtherMachineTemplate", Name: "x"}
			plane.Create(ctx, set)
		}),
	Entry("a MachineSet names a kind of ours that is not a machine template", ContainSubstring("names ElementalClusterTemplate t of "),
		func(_ *clusterv1.Machine, set *clusterv1.MachineSet) {
			set.OwnerReferences, set.Spec.Template.Spec.InfrastructureRef.Kind = nil, "ElementalClusterTemplate"
			plane.Create(ctx, set)
		}),
	Entry("a MachineSet names a kind of the same name in another group", ContainSubstring("names ElementalMachineTemplate t of other.io"),
		func(_ *clusterv1.Machine, set *clusterv1.MachineSet) {
			set.OwnerReferences, set.Spec.Template.Spec.InfrastructureRef.APIGroup = nil, "other.io"
			plane.Create(ctx, set)
		}),
	Entry("a MachineSet of another owner names a template that does not exist", ContainSubstring("names ElementalMachineTemplate t in its infrastructureRef, which does not exist"),
		func(_ *clusterv1.Machine, set *clusterv1.MachineSet) {
			set.OwnerReferences[0].Kind = "OtherDeployment"
			plane.Create(ctx, set)
		}),
)

func ownedBy(machine *clusterv1.Machine, kind, name string) {
	machine.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: "1", Controller: ptr.To(true)}}
}
