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

// cloned is a MachineDeployment that was pointed to a clone of a template, with a Machine.
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
	x.md = ownertest.MachineDeployment(namespace, "md", "c", "clone", 1)
	x.md.Annotations = map[string]string{infrav1.RolloutCloneAnnotation: "clone"}
	plane.Create(ctx, x.source, x.clone, x.md)
	set := ownertest.MachineSet(x.md, "ms", "clone", 1)
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
	want, found, err := ownersAt(0).WantsOSNow(ctx, x.machine)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue())
	Expect(want.Template.Name).To(Equal(want.TemplateName))
	image, _ = osversion.Image(want.OSVersionManagement)
	return want.TemplateName, image
}

var _ = Describe("What is wanted now of a Machine whose owner was pointed to a clone", func() {
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
		Entry("that of the clone, if another party has pointed the owner there", "clone", "v1", func(x *cloned) {
			x.patched(v2)
			x.md.Annotations[infrav1.RolloutCloneAnnotation] = "later"
			Expect(c.Update(ctx, x.md)).To(Succeed())
		}),
		Entry("that of the clone, if the source is gone", "clone", "v1", func(x *cloned) {
			x.patched(v2)
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

	It("is that of the source of a clone that driver Direct brings it to", func() {
		x := newCloned("t")
		elemental := ownertest.ElementalMachine(x.md.Namespace, "m", "t", "v1")
		elemental.Annotations[infrav1.DirectTemplateAnnotation] = "clone"
		plane.Create(ctx, elemental)
		x.machine.OwnerReferences = nil
		_, image := x.wants()
		Expect(image).To(Equal("v1"))
		x.patched(v2)
		_, image = x.wants()
		Expect(image).To(Equal("v2"))
	})

	It("is what the reference says, for what is reported from the cache", func() {
		x := newCloned("t")
		x.patched(v2)
		want, found, err := owner.WantsOS(ctx, client.Reader(c), x.machine)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		Expect(want.TemplateName).To(Equal("clone"))
	})
})
