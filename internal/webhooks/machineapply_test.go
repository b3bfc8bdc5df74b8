// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// tryAs applies a spec to an ElementalMachine as KubeadmControlPlane does when it looks whether it can update in place.
func tryAs(ctx context.Context, machine *infrav1.ElementalMachine, template string, spec *infrav1.ElementalMachineSpec) error {
	return applyAs(ctx, machine, template, spec, client.DryRunAll)
}

// applyAs applies a spec to an ElementalMachine as KubeadmControlPlane does when it updates it in place.
func applyAs(ctx context.Context, machine *infrav1.ElementalMachine, template string, spec *infrav1.ElementalMachineSpec, options ...client.ApplyOption) error {
	GinkgoHelper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	Expect(err).NotTo(HaveOccurred())
	applied := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	applied.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ElementalMachine"))
	applied.SetNamespace(machine.Namespace)
	applied.SetName(machine.Name)
	applied.SetUID(machine.UID)
	applied.SetAnnotations(map[string]string{clusterv1.TemplateClonedFromNameAnnotation: template})
	return person.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied),
		append(options, client.ForceOwnership, client.FieldOwner("capi-kubeadmcontrolplane"))...)
}

var _ = Describe("An ElementalMachine that KubeadmControlPlane tries to change", func() {
	var (
		machine  *infrav1.ElementalMachine
		template *infrav1.ElementalMachineTemplate
	)
	BeforeEach(func(ctx SpecContext) {
		machine = &infrav1.ElementalMachine{ObjectMeta: meta("m-")}
		machine.Spec = infrav1.ElementalMachineSpec{
			Selector: selector("a"), OSVersionManagement: osversion.OfImage("oci://os:v1"),
			HostRef: &infrav1.LocalReference{Name: "h1"}, ProviderID: "elemental://default/h1",
		}
		Expect(person.Create(ctx, machine)).To(Succeed())
		template = &infrav1.ElementalMachineTemplate{ObjectMeta: meta("t-")}
		template.Spec.Template.Spec = infrav1.ElementalMachineSpec{Selector: selector("b"), OSVersionManagement: osversion.OfImage("oci://os:v2")}
		Expect(person.Create(ctx, template)).To(Succeed())
	})

	It("is not refused what it has", func(ctx SpecContext) {
		Expect(tryAs(ctx, machine, "gone", &machine.Spec)).To(Succeed())
	})

	It("is not refused what its template holds: whether that is done in place, or not at all, is for the hook to say", func(ctx SpecContext) {
		Expect(tryAs(ctx, machine, template.Name, &template.Spec.Template.Spec)).To(Succeed())
	})

	It("has no key left of an OS that this provider has patched, when another one is applied", func(ctx SpecContext) {
		former := machine.Spec.DeepCopy()
		former.OSVersionManagement = specs.OS(`{"debug": true, "imageUri": "oci://os:v1"}`)
		former.OSVersionManagement.Plugins = map[string]runtime.RawExtension{"other": {Raw: []byte(`{"key": "value"}`)}}
		Expect(applyAs(ctx, machine, template.Name, former)).To(Succeed())

		Expect(person.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		before := machine.DeepCopy()
		machine.Spec.OSVersionManagement.OSVersion = specs.OS(`{"debug": true, "imageUri": "oci://os:v3", "upgradeRecovery": true}`).OSVersion
		Expect(person.Patch(ctx, machine, client.MergeFrom(before), client.FieldOwner("manager"))).To(Succeed())

		wanted := former.DeepCopy()
		wanted.OSVersionManagement = osversion.OfImage("oci://os:v2")
		Expect(applyAs(ctx, machine, template.Name, wanted)).To(Succeed())
		Expect(person.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		Expect(machine.Spec.OSVersionManagement.OSVersion).To(Equal(osversion.OfImage("oci://os:v2").OSVersion))
		Expect(machine.Spec.OSVersionManagement.Plugins).To(BeEmpty())
	})

	DescribeTable("is refused what no template holds",
		func(ctx SpecContext, change func(*infrav1.ElementalMachineSpec), refusal string) {
			wanted := template.Spec.Template.Spec.DeepCopy()
			change(wanted)
			expect(tryAs(ctx, machine, template.Name, wanted), refusal)
		},
		Entry("a selector", func(s *infrav1.ElementalMachineSpec) { s.Selector = selector("c") }, "spec.selector"),
		Entry("an image that is none", func(s *infrav1.ElementalMachineSpec) { s.OSVersionManagement = osversion.OfImage("oci://a b") },
			"spec.osVersionManagement.osVersion.imageURI"),
		Entry("another host", func(s *infrav1.ElementalMachineSpec) { s.HostRef = &infrav1.LocalReference{Name: "h2"} }, "spec.hostRef"),
	)

	It("is refused the content of a template that does not exist", func(ctx SpecContext) {
		expect(tryAs(ctx, machine, "gone", &template.Spec.Template.Spec), "spec.selector")
	})
})

// What was stored before these rules, or past them, can only be tried without the API server that has them.
var _ = Describe("An ElementalMachine with values that are refused today", func() {
	broken := []TableEntry{
		Entry("an image that is none", infrav1.ElementalMachineSpec{OSVersionManagement: osversion.OfImage("http://os:v1")}),
		Entry("an OS that is none", infrav1.ElementalMachineSpec{OSVersionManagement: specs.OS(`[]`)}),
		Entry("a selector that is none", infrav1.ElementalMachineSpec{Selector: selector("not a value")}),
	}
	DescribeTable("keeps them when it is changed otherwise", func(spec infrav1.ElementalMachineSpec) {
		before := &infrav1.ElementalMachine{Spec: spec}
		after := before.DeepCopy()
		after.Finalizers = []string{"a/b"}
		_, err := (&webhooks.Machine{}).ValidateUpdate(context.Background(), before, after)
		Expect(err).NotTo(HaveOccurred())
	}, broken)

	DescribeTable("is given what a stored template holds", func(spec infrav1.ElementalMachineSpec) {
		before := &infrav1.ElementalMachine{ObjectMeta: meta("m")}
		after := before.DeepCopy()
		after.Spec, after.Annotations = spec, map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "t"}
		_, err := (&webhooks.Machine{Live: stored{spec: spec}}).ValidateUpdate(context.Background(), before, after)
		Expect(err).NotTo(HaveOccurred())
	}, broken)

	It("is not refused because its template could not be read: of what is forbidden, KubeadmControlPlane deletes the Machine", func() {
		before := &infrav1.ElementalMachine{ObjectMeta: meta("m")}
		after := before.DeepCopy()
		after.Spec.OSVersionManagement = osversion.OfImage("http://os:v1")
		after.Annotations = map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "t"}
		_, err := (&webhooks.Machine{Live: stored{down: errors.New("connection refused")}}).ValidateUpdate(context.Background(), before, after)
		Expect(apierrors.IsInternalError(err)).To(BeTrue(), "%v", err)
	})
})

// stored is an API server that has one template, which no rule of today would let in, or that does not answer.
type stored struct {
	client.Reader

	spec infrav1.ElementalMachineSpec
	down error
}

func (s stored) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.(*infrav1.ElementalMachineTemplate).Spec.Template.Spec = s.spec
	return s.down
}
