// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

var _ = Describe("Releasing a host", func() {
	It("keeps the lock until the host has reset itself, and takes the bootstrap data back", func(ctx SpecContext) {
		ns := server.NewNamespace(ctx)
		machine, host := makeMachine(ctx, ns, "m1"), makeHost(ctx, ns, "h1")
		eventuallyCached(ctx, machine, host)
		_, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).NotTo(HaveOccurred())
		eventuallyCached(ctx, live(ctx, host), live(ctx, machine))

		hosts, err := claimer(0).Claimed(ctx, machine)
		Expect(err).NotTo(HaveOccurred())
		Expect(hosts).To(HaveLen(1))
		Expect(claimer(0).Release(ctx, hosts[0])).To(Succeed())

		live(ctx, host)
		Expect(host.Labels).To(HaveKeyWithValue(infrav1.NeedsResetLabel, "true"))
		Expect(host.Spec.MachineRef.Name).To(Equal("m1"))
		Expect(host.Spec.BootstrapSecret).To(BeNil())
		Expect(claimer(0).Claimed(ctx, machine)).To(BeEmpty(), "it is released once")
	})
})

var _ = Describe("A host that registered again under the name of a machine's host", func() {
	bound := func(ctx SpecContext) (*infrav1.ElementalMachine, string) {
		GinkgoHelper()
		ns := server.NewNamespace(ctx)
		machine, host := makeMachine(ctx, ns, "m1"), makeHost(ctx, ns, "h1")
		eventuallyCached(ctx, machine, host)
		_, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).NotTo(HaveOccurred())
		live(ctx, host).Finalizers = nil
		Expect(server.Client.Update(ctx, host)).To(Succeed())
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		return live(ctx, machine), ns
	}

	It("is not taken for that host", func(ctx SpecContext) {
		machine, ns := bound(ctx)
		host := makeHost(ctx, ns, "h1")
		eventuallyCached(ctx, machine, host)
		Expect(association.Replaced(host, machine)).To(BeTrue())
		_, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).To(HaveOccurred())
		Expect(live(ctx, host).Spec.MachineRef).To(BeNil())
		Expect(host.Spec.BootstrapSecret).To(BeNil())
		Expect(claimer(0).Claimed(ctx, machine)).To(BeEmpty(), "it is free for others, and not reset")
	})

	It("is given back with the machine if it is bootstrapped, and of no other use", func(ctx SpecContext) {
		machine, ns := bound(ctx)
		host := makeHost(ctx, ns, "h1", func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true })
		eventuallyCached(ctx, machine, host)
		Expect(claimer(0).Claimed(ctx, machine)).To(ConsistOf(HaveField("UID", host.UID)))
	})

	It("is given back with the machine before it has said whether it is bootstrapped", func(ctx SpecContext) {
		machine, ns := bound(ctx)
		host := makeHost(ctx, ns, "h1", func(h *infrav1.ElementalHost) { h.Status = infrav1.ElementalHostStatus{} })
		eventuallyCached(ctx, machine, host)
		Expect(claimer(0).Claimed(ctx, machine)).To(ConsistOf(HaveField("UID", host.UID)))
	})

	It("is that host once a person says so", func(ctx SpecContext) {
		machine, ns := bound(ctx)
		host := makeHost(ctx, ns, "h1")
		machine.Spec.HostRef.UID = host.UID
		Expect(server.Client.Update(ctx, machine)).To(Succeed())
		eventuallyCached(ctx, machine, host)
		Expect(association.Replaced(host, machine)).To(BeFalse())
		claimed, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).NotTo(HaveOccurred())
		Expect(claimed.UID).To(Equal(host.UID))
	})
})

var _ = Describe("A host that is being deleted", func() {
	It("is given back by its machine, which it serves no more", func(ctx SpecContext) {
		ns := server.NewNamespace(ctx)
		machine, host := makeMachine(ctx, ns, "m1"), makeHost(ctx, ns, "h1")
		eventuallyCached(ctx, machine, host)
		_, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).NotTo(HaveOccurred())
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		eventuallyCached(ctx, live(ctx, host), live(ctx, machine))
		Expect(association.Serves(host, machine)).To(BeFalse())
		Expect(claimer(0).Claimed(ctx, machine)).To(ConsistOf(HaveField("UID", host.UID)))
	})
})

var _ = DescribeTable("A host serves a machine",
	func(ref *infrav1.LocalReference, hostRef, annotation string, needsReset bool, expected bool) {
		host := &infrav1.ElementalHost{}
		host.Name, host.Spec.MachineRef = "h1", ref
		if needsReset {
			host.Labels = map[string]string{infrav1.NeedsResetLabel: "true"}
		}
		machine := &infrav1.ElementalMachine{}
		machine.Name, machine.UID = "m1", "new"
		if hostRef != "" {
			machine.Spec.HostRef = &infrav1.LocalReference{Name: hostRef}
		}
		if annotation != "" {
			machine.Annotations = map[string]string{infrav1.ClaimingHostAnnotation: annotation}
		}
		Expect(association.Serves(host, machine)).To(Equal(expected))
	},
	Entry("locked by its UID", &infrav1.LocalReference{Name: "m1", UID: "new"}, "", "", false, true),
	Entry("not locked", nil, "h1", "", false, false),
	Entry("locked by another name", &infrav1.LocalReference{Name: "m2", UID: "new"}, "h1", "", false, false),
	Entry("moved: an old UID, but the machine names the host", &infrav1.LocalReference{Name: "m1", UID: "old"}, "h1", "", false, true),
	Entry("moved in the middle of a claim", &infrav1.LocalReference{Name: "m1", UID: "old"}, "", "h1", false, true),
	Entry("locked by a former machine of that name", &infrav1.LocalReference{Name: "m1", UID: "old"}, "", "", false, false),
	Entry("locked by a former machine of that name, while it names another host", &infrav1.LocalReference{Name: "m1", UID: "old"}, "h2", "", false, false),
	Entry("released", &infrav1.LocalReference{Name: "m1", UID: "new"}, "h1", "", true, false),
)
