// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// cloned is a MachineDeployment with a Machine that is brought to a clone of the template to which that refers.
type cloned struct {
	source, clone *infrav1.ElementalMachineTemplate
	md            *clusterv1.MachineDeployment
	machine       *clusterv1.Machine
}

func newCloned(source string) *cloned {
	GinkgoHelper()
	namespace := plane.NewNamespace(ctx)
	x := &cloned{source: ownertest.Template(namespace, source, "v1"), clone: ownertest.Template(namespace, "clone", "v1")}
	x.clone.Labels = map[string]string{infrav1.SourceTemplateLabel: rollout.LabelValue(source)}
	x.clone.Annotations = map[string]string{infrav1.SourceTemplateLabel: source}
	x.md = ownertest.MachineDeployment(namespace, "md", "c", source, 1)
	elemental := ownertest.ElementalMachine(namespace, "m", source, "v1")
	elemental.Annotations[infrav1.DirectTemplateAnnotation] = "clone"
	plane.Create(ctx, x.source, x.clone, x.md, elemental)
	set := ownertest.MachineSet(x.md, "ms", source, 1)
	plane.Create(ctx, set)
	x.machine = ownertest.Machine(set, "m")
	return x
}

// patched gives the source another osVersion.
func (x *cloned) patched(osVersion string) {
	GinkgoHelper()
	x.source.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{infrav1.OSVersionKey: runtime.RawExtension{Raw: []byte(osVersion)}}
	Expect(c.Update(ctx, x.source)).To(Succeed())
}

func (x *cloned) wants() (template, image string) {
	GinkgoHelper()
	want, found, err := owner.WantsLatestOS(ctx, c, x.machine)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue())
	Expect(want.Template.Name).To(Equal(want.TemplateName))
	image, _ = osversion.Image(want.OSVersionManagement)
	return want.TemplateName, image
}

var _ = Describe("What is wanted now of a Machine that is brought to a clone", func() {
	const v2 = `{"imageUri":"v2"}`

	DescribeTable("is", func(template, image string, change func(x *cloned)) {
		x := newCloned("t")
		change(x)
		wants, of := x.wants()
		Expect([]string{wants, of}).To(Equal([]string{template, image}))
	},
		Entry("that of the clone", "clone", "v1", func(*cloned) {}),
		Entry("that of its source, which was patched since", "t", "v2", func(x *cloned) { x.patched(v2) }),
		Entry("that of the clone, after the source was patched back", "clone", "v1", func(x *cloned) {
			x.patched(v2)
			x.patched(`{"imageUri":"v1"}`)
		}),
		Entry("that of the clone, if the patch changes no OS", "clone", "v1", func(x *cloned) { x.patched(`{"imageUri":"v1","debug":true}`) }),
		Entry("that of the clone, if a user has the owner refer to that", "clone", "v1", func(x *cloned) {
			x.patched(v2)
			x.md.Spec.Template.Spec.InfrastructureRef.Name = "clone"
			Expect(c.Update(ctx, x.md)).To(Succeed())
		}),
		Entry("that of the clone, if the source is gone, and no owner refers to it", "clone", "v1", func(x *cloned) {
			x.patched(v2)
			x.machine.OwnerReferences = nil
			Expect(c.Delete(ctx, x.source)).To(Succeed())
		}),
		Entry("that of the clone, if the source is being deleted", "clone", "v1", func(x *cloned) {
			x.source.Finalizers = []string{"test.example.com/kept"}
			x.patched(v2)
			Expect(c.Delete(ctx, x.source)).To(Succeed())
		}),
	)

	It("is that of a source whose name is too long for a label", func() {
		name := strings.Repeat("long-", 20) + "name"
		x := newCloned(name)
		x.patched(v2)
		wants, image := x.wants()
		Expect([]string{wants, image}).To(Equal([]string{name, "v2"}))
	})

	It("is that of the template that a control plane was rotated to, whatever is noted on its Machine", func() {
		x := newCloned("t")
		kcp := ownertest.KubeadmControlPlane(x.md.Namespace, "cp", "c", "next")
		plane.Create(ctx, kcp, ownertest.Template(x.md.Namespace, "next", "v3"))
		x.machine.OwnerReferences = ownertest.ControlPlaneMachine(kcp, "m").OwnerReferences
		wants, image := x.wants()
		Expect([]string{wants, image}).To(Equal([]string{"next", "v3"}))
	})

	It("is that of the source, also of a Machine without an owner", func() {
		x := newCloned("t")
		x.machine.OwnerReferences = nil
		_, image := x.wants()
		Expect(image).To(Equal("v1"))
		x.patched(v2)
		_, image = x.wants()
		Expect(image).To(Equal("v2"))
	})

	It("is the content of the clone, for what is reported from the cache", func() {
		x := newCloned("t")
		x.patched(v2)
		want, found, err := owner.WantsOS(ctx, client.Reader(c), x.machine)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		Expect(want.TemplateName).To(Equal("clone"))
	})
})
