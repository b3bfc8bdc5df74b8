// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

var _ = Describe("Claiming a host", func() {
	var ns string
	BeforeEach(func(ctx SpecContext) { ns = server.NewNamespace(ctx) })

	It("writes all of the association into the host at once, and the host into the machine", func(ctx SpecContext) {
		host := makeHost(ctx, ns, "h1")
		machine := makeMachine(ctx, ns, "m1", func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = osversion.OfImage("oci://os:v1") })
		eventuallyCached(ctx, host, machine)
		generation := host.Generation

		_, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).NotTo(HaveOccurred())

		live(ctx, host)
		Expect(host.Generation).To(Equal(generation+1), "the spec is written once")
		Expect(host.Spec.MachineRef.Name).To(Equal("m1"))
		Expect(host.Spec.MachineRef.UID).To(Equal(machine.UID))
		Expect(host.Spec.BootstrapSecret.Name).To(Equal("bootstrap-m1"))
		Expect(host.Spec.OSVersionManagement).To(Equal(osversion.OfImage("oci://os:v1")))
		Expect(host.Labels).To(HaveKeyWithValue(infrav1.MachineNameLabel, "machine-m1"))
		Expect(host.Labels).To(HaveKeyWithValue(infrav1.ElementalMachineNameLabel, "m1"))
		Expect(host.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c1"))
		Expect(host.Finalizers).To(ConsistOf(infrav1.ElementalMachineFinalizer))

		live(ctx, machine)
		Expect(machine.Spec.HostRef.Name).To(Equal("h1"))
		Expect(machine.Spec.ProviderID).To(Equal(fmt.Sprintf("elemental://%s/h1", ns)))
		Expect(machine.Annotations).NotTo(HaveKey(infrav1.ClaimingHostAnnotation))
	})

	DescribeTable("takes only a host that is free and fits",
		func(ctx SpecContext, spoil func(*infrav1.ElementalHost)) {
			machine := makeMachine(ctx, ns, "m1", func(m *infrav1.ElementalMachine) {
				m.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "a"}}
			})
			fits := func(h *infrav1.ElementalHost) {
				h.Labels["rack"], h.Labels[association.FailureDomainLabel] = "a", "z1"
			}
			spoilt := makeHost(ctx, ns, "a-spoilt", fits, spoil)
			good := makeHost(ctx, ns, "z-good", fits)
			eventuallyCached(ctx, machine, spoilt, good)

			claim := claimOf(machine)
			claim.FailureDomain = "z1"
			host, err := claimer(0).Claim(ctx, claim)
			Expect(err).NotTo(HaveOccurred())
			Expect(host.Name).To(Equal("z-good"))
		},
		Entry("not approved", func(h *infrav1.ElementalHost) { h.Spec.Approved = false }),
		Entry("not installed", func(h *infrav1.ElementalHost) { h.Status.Installed = false }),
		Entry("bootstrapped", func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true }),
		Entry("asked to reset itself", func(h *infrav1.ElementalHost) { h.Labels[infrav1.NeedsResetLabel] = "true" }),
		Entry("paused", func(h *infrav1.ElementalHost) { h.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} }),
		Entry("reserved for another cluster", func(h *infrav1.ElementalHost) { h.Labels[clusterv1.ClusterNameLabel] = "c2" }),
		Entry("not selected", func(h *infrav1.ElementalHost) { h.Labels["rack"] = "b" }),
		Entry("selected only by a label that it proposed itself", func(h *infrav1.ElementalHost) {
			h.Annotations = map[string]string{infrav1.ProposedLabelsAnnotation: "rack,serial"}
		}),
		Entry("in another failure domain", func(h *infrav1.ElementalHost) { h.Labels[association.FailureDomainLabel] = "z2" }),
	)

	It("takes the first by name, but one that runs the wanted OS before", func(ctx SpecContext) {
		runs := func(uri string) func(*infrav1.ElementalHost) {
			return func(h *infrav1.ElementalHost) { h.Status.OS.ImageURI = uri }
		}
		wants := func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") }
		first, second := makeMachine(ctx, ns, "m1", wants), makeMachine(ctx, ns, "m2", wants)
		a, b, c := makeHost(ctx, ns, "a", runs("oci://os:v1")), makeHost(ctx, ns, "b", runs("oci://os:v1")), makeHost(ctx, ns, "c", runs("os:v2"))
		eventuallyCached(ctx, first, second, a, b, c)

		host, err := claimer(0).Claim(ctx, claimOf(first))
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Name).To(Equal("c"))
		eventuallyCached(ctx, live(ctx, c))
		host, err = claimer(0).Claim(ctx, claimOf(second))
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Name).To(Equal("a"))
	})

	It("leaves hosts without the watch-filter label to other managers", func(ctx SpecContext) {
		machine := makeMachine(ctx, ns, "m1")
		eventuallyCached(ctx, machine, makeHost(ctx, ns, "h1"))
		filtered := claimer(0)
		filtered.WatchFilterValue = "mine"
		_, err := filtered.Claim(ctx, claimOf(machine))
		Expect(err).To(MatchError(association.ErrNoHost))
	})

	It("reports that there is no host, and touches nothing", func(ctx SpecContext) {
		machine := makeMachine(ctx, ns, "m1")
		_, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).To(MatchError(association.ErrNoHost))
		Expect(live(ctx, machine).Annotations).To(BeEmpty())
	})
})

var _ = Describe("Many machines that claim many hosts", func() {
	const machines, hosts = 50, 50

	It("never book a host twice, nor give a machine two, with several managers at work", func(ctx SpecContext) {
		ns := server.NewNamespace(ctx)
		objects := make([]client.Object, 0, machines+hosts)
		all := make([]*infrav1.ElementalMachine, 0, machines)
		for i := range hosts {
			objects = append(objects, makeHost(ctx, ns, fmt.Sprintf("h%02d", i)))
		}
		for i := range machines {
			all = append(all, makeMachine(ctx, ns, fmt.Sprintf("m%02d", i)))
			objects = append(objects, all[i])
		}
		eventuallyCached(ctx, objects...)

		var wg sync.WaitGroup
		for manager := range managers {
			for _, machine := range all {
				wg.Go(func() { claimUntilBound(ctx, manager, machine) })
			}
		}
		wg.Wait()

		taken := map[string]string{}
		for _, machine := range all {
			live(ctx, machine)
			Expect(machine.Spec.HostRef).NotTo(BeNil(), machine.Name)
			Expect(locked(ctx, machine)).To(ConsistOf(machine.Spec.HostRef.Name), "hosts of "+machine.Name)
			Expect(taken).NotTo(HaveKey(machine.Spec.HostRef.Name))
			taken[machine.Spec.HostRef.Name] = machine.Name
		}
		Expect(taken).To(HaveLen(hosts))
	})
})

// claimUntilBound does what a controller does: it reads from its cache, claims, and tries again.
func claimUntilBound(ctx context.Context, manager int, machine *infrav1.ElementalMachine) {
	defer GinkgoRecover()
	Eventually(func() (string, error) {
		cached := &infrav1.ElementalMachine{}
		if err := clients[manager].Get(ctx, client.ObjectKeyFromObject(machine), cached); err != nil {
			return "", err
		}
		if cached.Spec.HostRef != nil {
			return cached.Spec.HostRef.Name, nil
		}
		_, err := claimer(manager).Claim(ctx, claimOf(cached))
		if errors.Is(err, association.ErrContended) || errors.Is(err, association.ErrNoHost) {
			err = nil
		}
		return "", err
	}).WithContext(ctx).WithTimeout(eventually).Should(Not(BeEmpty()))
}

var _ = Describe("A crash in the middle of a claim", func() {
	// crash makes the writes of one kind fail: before or after they have reached the API server.
	crash := func(ofHost, reached bool, nth int) client.Client {
		count := 0
		return interceptor.NewClient(watching(clients[0]), interceptor.Funcs{
			Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
				if _, isHost := object.(*infrav1.ElementalHost); isHost != ofHost {
					return inner.Patch(ctx, object, patch, options...)
				}
				if count++; count != nth {
					return inner.Patch(ctx, object, patch, options...)
				}
				if reached {
					if err := inner.Patch(ctx, object, patch, options...); err != nil {
						return err
					}
				}
				return errCrash
			},
		})
	}

	DescribeTable("ends with the machine's one host",
		func(ctx SpecContext, ofHost, reached bool, nth int) {
			ns := server.NewNamespace(ctx)
			machine := makeMachine(ctx, ns, "m1")
			a, b := makeHost(ctx, ns, "a"), makeHost(ctx, ns, "b")
			eventuallyCached(ctx, machine, a, b)

			crashing := claimer(0)
			crashing.Client = crash(ofHost, reached, nth)
			_, err := crashing.Claim(ctx, claimOf(machine))
			Expect(err).To(MatchError(errCrash))

			// Another leader takes over, with the machine as it is now, but hosts as stale as can be.
			host, err := claimer(1).Claim(ctx, claimOf(live(ctx, machine)))
			Expect(err).NotTo(HaveOccurred())
			Expect(locked(ctx, machine)).To(ConsistOf(host.Name))
			Expect(live(ctx, machine).Spec.HostRef.Name).To(Equal(host.Name))
		},
		Entry("before the host is written down", false, false, 1),
		Entry("after the host is written down", false, true, 1),
		Entry("before the lock", true, false, 1),
		Entry("after the lock", true, true, 1),
		Entry("before the machine learns of its host", false, false, 2),
		Entry("after the machine has learnt of its host", false, true, 2),
	)

	It("does not resume on a stale machine", func(ctx SpecContext) {
		ns := server.NewNamespace(ctx)
		machine := makeMachine(ctx, ns, "m1")
		stale := machine.DeepCopy()
		eventuallyCached(ctx, machine, makeHost(ctx, ns, "a"), makeHost(ctx, ns, "b"))
		host, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).NotTo(HaveOccurred())

		_, err = claimer(1).Claim(ctx, claimOf(stale))
		Expect(err).To(MatchError(association.ErrContended))
		Expect(locked(ctx, machine)).To(ConsistOf(host.Name))
	})

	It("looks for another host when the one written down went to another machine", func(ctx SpecContext) {
		ns := server.NewNamespace(ctx)
		other := makeMachine(ctx, ns, "m0")
		machine := makeMachine(ctx, ns, "m1", func(m *infrav1.ElementalMachine) {
			m.Annotations = map[string]string{infrav1.ClaimingHostAnnotation: "a"}
		})
		a, b := makeHost(ctx, ns, "a"), makeHost(ctx, ns, "b")
		eventuallyCached(ctx, machine, other, a, b)
		_, err := claimer(0).Claim(ctx, claimOf(other))
		Expect(err).NotTo(HaveOccurred())

		eventuallyCached(ctx, live(ctx, a))
		host, err := claimer(0).Claim(ctx, claimOf(machine))
		Expect(err).NotTo(HaveOccurred())
		Expect(host.Name).To(Equal("b"))
	})
})
