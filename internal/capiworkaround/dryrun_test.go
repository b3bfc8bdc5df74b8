// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// admission answers as webhooks do what is applied with a word in it, and lets the API server judge all else.
type admission struct {
	client.Client
	answers map[string]error
}

func (a admission) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	content, err := json.Marshal(object)
	if err != nil {
		return err
	}
	for word, answer := range a.answers {
		if strings.Contains(string(content), word) {
			return answer
		}
	}
	return a.Client.Apply(ctx, object, options...)
}

var _ = Describe("RefusedUpdate", func() {
	var (
		owners    *owner.Owners
		kcp       owner.Owner
		machine   *clusterv1.Machine
		elemental *infrav1.ElementalMachine
		template  *infrav1.ElementalMachineTemplate
		kind      = schema.GroupResource{Group: infrav1.GroupVersion.Group, Resource: "elementalmachines"}
	)
	BeforeEach(func() {
		namespace := plane.NewNamespace(ctx)
		made := ownertest.KubeadmControlPlane(namespace, "cp", "c", "former")
		plane.Create(ctx, made)
		machine, elemental = ownertest.ControlPlaneMachine(made, "m"), ownertest.ElementalMachine(namespace, "m", "former", "former-image")
		plane.Create(ctx, machine, elemental)
		kcp, template = owner.ForKubeadmControlPlane(made), ownertest.Template(namespace, "wanted", "wanted-image")
		owners = ownersAt(0)
	})
	refusing := func(word string, answer error) {
		owners.Client = admission{c, map[string]error{word: answer}}
	}
	const because = "because of the spec"
	invalid := func() error {
		return apierrors.NewInvalid(schema.GroupKind{Group: infrav1.GroupVersion.Group, Kind: "ElementalMachine"}, because, nil)
	}

	It("is none where the API server takes both, and changes nothing", func() {
		Expect(capiworkaround.RefusedUpdate(ctx, owners, kcp, template)).To(BeEmpty())
		stored := &infrav1.ElementalMachine{}
		Expect(c.Get(ctx, client.ObjectKeyFromObject(elemental), stored)).To(Succeed())
		Expect(stored.ResourceVersion).To(Equal(elemental.ResourceVersion))
	})

	It("is none for an ElementalMachine without annotations", func() {
		elemental.Annotations = nil
		Expect(c.Update(ctx, elemental)).To(Succeed())
		Expect(capiworkaround.RefusedUpdate(ctx, owners, kcp, template)).To(BeEmpty())
	})

	DescribeTable("is told with the Machine and the template",
		func(word string, answer func() error) {
			refusing(word, answer())
			Expect(capiworkaround.RefusedUpdate(ctx, owners, kcp, template)).To(And(
				HavePrefix("KubeadmControlPlane cp would delete Machine m instead of updating it, because the API server refuses its ElementalMachine with "+
					"the content of ElementalMachineTemplate wanted: "),
				ContainSubstring(because), HaveSuffix(". Change the template, or what refuses it")))
		},
		Entry("for invalid content", "wanted-image", invalid),
		Entry("for content that is forbidden", "wanted-image", func() error { return apierrors.NewForbidden(kind, "m", errors.New(because)) }),
		Entry("for a template that is forbidden", `"wanted"`, func() error { return apierrors.NewForbidden(kind, "m", errors.New(because)) }),
		Entry("for the content that it has", "former-image", invalid),
	)

	It("is what the API server itself finds", func() {
		template.Spec.Template.Spec.ProviderID = strings.Repeat("x", 513)
		Expect(capiworkaround.RefusedUpdate(ctx, owners, kcp, template)).To(ContainSubstring("spec.providerID"))
	})

	It("is not known where the API server does not answer", func() {
		refusing("former-image", errors.New("no answer"))
		_, err := capiworkaround.RefusedUpdate(ctx, owners, kcp, template)
		Expect(err).To(MatchError(And(ContainSubstring("trying to update Machine m"), ContainSubstring("no answer"))))
	})

	It("is nothing for a MachineDeployment", func() {
		refusing("image", invalid())
		md := ownertest.MachineDeployment(machine.Namespace, "md", "c", "former", 1)
		Expect(capiworkaround.RefusedUpdate(ctx, owners, owner.ForMachineDeployment(md), template)).To(BeEmpty())
	})

	DescribeTable("is nothing for a Machine that is not updated",
		func(change func()) {
			change()
			refusing("image", invalid())
			Expect(capiworkaround.RefusedUpdate(ctx, owners, kcp, template)).To(BeEmpty())
		},
		Entry("because it is being deleted", func() { leave(machine) }),
		Entry("because it is another provider's", func() {
			machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "other.io", Kind: "OtherMachine", Name: "m"}
			Expect(c.Update(ctx, machine)).To(Succeed())
		}),
		Entry("because its ElementalMachine is gone", func() { Expect(c.Delete(ctx, elemental)).To(Succeed()) }),
	)
})
