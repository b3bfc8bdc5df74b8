// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// noted is a Machine of a MachineDeployment, with a note of the template that this refers to.
type noted struct {
	template *infrav1.ElementalMachineTemplate
	machine  *clusterv1.Machine
}

func newNoted() *noted {
	GinkgoHelper()
	namespace := plane.NewNamespace(ctx)
	x := &noted{template: ownertest.Template(namespace, "t", "v1")}
	md := ownertest.MachineDeployment(namespace, "md", "c", "t", 1)
	elemental := ownertest.ElementalMachine(namespace, "m", "t", "v1")
	owner.Note(elemental, "t", osversion.Hash(osversion.OfImage("v1")), "t-1")
	plane.Create(ctx, x.template, md, elemental)
	set := ownertest.MachineSet(md, "ms", "t", 1)
	plane.Create(ctx, set)
	x.machine = ownertest.Machine(set, "m")
	return x
}

// wants is the template and the image that are wanted.
func (x *noted) wants() []string {
	GinkgoHelper()
	want, found, err := owner.WantsOS(ctx, c, x.machine)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue())
	Expect(want.Template.Name).To(Equal(want.TemplateName))
	return []string{want.TemplateName, osversion.Image(want.OSVersionManagement)}
}

var _ = Describe("What is wanted of a Machine that is brought to a template", func() {
	It("is what the template has by now, also of a Machine without an owner", func() {
		x := newNoted()
		Expect(x.wants()).To(Equal([]string{"t", "v1"}))
		x.template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("v2")
		Expect(c.Update(ctx, x.template)).To(Succeed())
		Expect(x.wants()).To(Equal([]string{"t", "v2"}))
		x.machine.OwnerReferences = nil
		Expect(x.wants()).To(Equal([]string{"t", "v2"}))
	})

	It("is that of the template that a control plane was rotated to, whatever is noted on its Machine", func() {
		x := newNoted()
		kcp := ownertest.KubeadmControlPlane(x.template.Namespace, "cp", "c", "next")
		plane.Create(ctx, kcp, ownertest.Template(x.template.Namespace, "next", "v3"))
		x.machine.OwnerReferences = ownertest.ControlPlaneMachine(kcp, "m").OwnerReferences
		Expect(x.wants()).To(Equal([]string{"next", "v3"}))
	})

	It("is unknown where the template is gone that is noted on a Machine without an owner", func() {
		x := newNoted()
		x.machine.OwnerReferences = nil
		Expect(c.Delete(ctx, x.template)).To(Succeed())
		want, found, err := owner.WantsOS(ctx, c, x.machine)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeFalse())
		Expect(want.MissingTemplate()).To(Equal("t"))
		Expect(want.Unknown(x.machine)).To(Equal("ElementalMachineTemplate t, which is noted on the ElementalMachine of Machine m, does not exist: recreate it, or delete the Machine"))
	})
})
