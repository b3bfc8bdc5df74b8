// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

// links are the objects of a chain before they are stored.
type links struct {
	machine   *clusterv1.Machine
	elemental *infrav1.ElementalMachine
	host      *infrav1.ElementalHost
}

func reference(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
}

func ownedBy(machine string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine, UID: "of-another-management-cluster", Controller: ptr.To(true),
	}}
}

// chain is whole: Machine m, ElementalMachine e and ElementalHost h.
func chain(ns string) *links {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "m"}}
	machine.Spec.ClusterName = "c"
	machine.Spec.Bootstrap.DataSecretName = ptr.To("data")
	machine.Spec.InfrastructureRef = reference("ElementalMachine", "e")
	elemental := &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "e", OwnerReferences: ownedBy("m")}}
	elemental.Spec.HostRef = &infrav1.LocalReference{Name: "h"}
	host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "h"}}
	host.Spec.PubKey = "key"
	host.Spec.MachineRef = &infrav1.LocalReference{Name: "e", UID: types.UID("of-another-management-cluster")}
	return &links{machine, elemental, host}
}

func (l *links) store(ctx SpecContext) {
	GinkgoHelper()
	for _, object := range []client.Object{l.machine, l.elemental, l.host} {
		if object.GetName() != "" {
			Expect(server.Client.Create(ctx, object)).To(Succeed())
		}
	}
}

var _ = Describe("The chain of a Machine, its ElementalMachine and its ElementalHost", func() {
	var ns string
	BeforeEach(func(ctx SpecContext) { ns = server.NewNamespace(ctx) })

	DescribeTable("is found from both ends where each names the next and is named by it",
		func(ctx SpecContext, change func(*links)) {
			all := chain(ns)
			change(all)
			all.store(ctx)
			fromMachine, err := association.ChainOfMachine(ctx, server.Client, client.ObjectKey{Namespace: ns, Name: "m"})
			Expect(err).NotTo(HaveOccurred())
			fromHost, err := association.ChainOfHost(ctx, server.Client, client.ObjectKey{Namespace: ns, Name: "h"})
			Expect(err).NotTo(HaveOccurred())
			Expect(fromHost).To(Equal(fromMachine))
			Expect(fromHost.Machine.Name + fromHost.Elemental.Name + fromHost.Host.Name).To(Equal("meh"))
		},
		Entry("with UIDs of before a move", func(*links) {}),
		Entry("while the machine sets out to claim the host", func(l *links) {
			l.elemental.Spec.HostRef = nil
			l.elemental.Annotations = map[string]string{infrav1.ClaimingHostAnnotation: "h"}
		}),
	)

	DescribeTable("is broken where one does not name the other",
		func(ctx SpecContext, change func(*links), ofMachine, ofHost string) {
			all := chain(ns)
			change(all)
			all.store(ctx)
			_, err := association.ChainOfMachine(ctx, server.Client, client.ObjectKey{Namespace: ns, Name: "m"})
			expectBroken(err, ofMachine)
			_, err = association.ChainOfHost(ctx, server.Client, client.ObjectKey{Namespace: ns, Name: "h"})
			expectBroken(err, ofHost)
		},
		Entry("no Machine", func(l *links) { l.machine.Name = "" }, "Machine m does not exist", "Machine m does not exist"),
		Entry("no ElementalMachine", func(l *links) { l.elemental.Name = "" }, "ElementalMachine e does not exist", "ElementalMachine e does not exist"),
		Entry("no host", func(l *links) { l.host.Name = "" }, "ElementalHost h does not exist", "ElementalHost h does not exist"),
		Entry("a Machine of another provider", func(l *links) { l.machine.Spec.InfrastructureRef.Kind = "OtherMachine" },
			"spec.infrastructureRef of Machine m names no ElementalMachine, but OtherMachine e", "spec.infrastructureRef of Machine m does not name ElementalMachine e"),
		Entry("a Machine that names another ElementalMachine", func(l *links) { l.machine.Spec.InfrastructureRef.Name = "other" },
			"ElementalMachine other does not exist", "spec.infrastructureRef of Machine m does not name ElementalMachine e"),
		Entry("an ElementalMachine without an owner", func(l *links) { l.elemental.OwnerReferences = nil },
			"ElementalMachine e does not have Machine m among its owners", "ElementalMachine e has no Machine among its owners"),
		Entry("an ElementalMachine of another Machine", func(l *links) { l.elemental.OwnerReferences = ownedBy("other") },
			"ElementalMachine e does not have Machine m among its owners", "Machine other does not exist"),
		Entry("an ElementalMachine owned by a Machine of another group", func(l *links) { l.elemental.OwnerReferences[0].APIVersion = "example.com/v1" },
			"ElementalMachine e does not have Machine m among its owners", "ElementalMachine e has no Machine among its owners"),
		Entry("an ElementalMachine without a host", func(l *links) { l.elemental.Spec.HostRef = nil },
			"ElementalMachine e has no ElementalHost", "ElementalMachine e does not name ElementalHost h"),
		Entry("an ElementalMachine with another host", func(l *links) { l.elemental.Spec.HostRef.Name = "other" },
			"ElementalHost other does not exist", "ElementalMachine e does not name ElementalHost h"),
		Entry("a host that serves none", func(l *links) { l.host.Spec.MachineRef = nil },
			"ElementalHost h does not serve ElementalMachine e", "ElementalHost h serves no ElementalMachine"),
		Entry("a host that serves another", func(l *links) { l.host.Spec.MachineRef.Name = "other" },
			"ElementalHost h does not serve ElementalMachine e", "ElementalMachine other does not exist"),
		Entry("a host that was released", func(l *links) { l.host.Labels = map[string]string{infrav1.NeedsResetLabel: "true"} },
			"ElementalHost h does not serve ElementalMachine e", "ElementalHost h does not serve ElementalMachine e"),
		Entry("another host under the same name", func(l *links) {
			l.elemental.Spec.HostRef.UID = "of-the-former-host"
			l.host.Spec.MachineRef = nil
		}, "ElementalHost h was registered again and is not known to be the host that serves ElementalMachine e", "ElementalHost h serves no ElementalMachine"),
	)
})

func expectBroken(err error, link string) {
	GinkgoHelper()
	var broken *association.Broken
	Expect(errors.As(err, &broken)).To(BeTrue(), "%v", err)
	Expect(broken.Link).To(Equal(link))
}
