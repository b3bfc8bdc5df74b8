// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
)

// Targets for one replica. The targets for idle hosts are those for 30,000, whatever their number.
const (
	wantedRate   = 200 // hosts registered a second
	wantedCores  = 0.1
	wantedMemory = 512 // MiB
	wantedDelay  = 50  // milliseconds from a label to its agent, of 99 in 100
)

const (
	// perRegistration is the number of hosts that register concurrently with one registration, whose limit that is, and
	// perBurst the number over all registrations.
	perRegistration = 2_000
	perBurst        = 10_000
	// settle is how long the fleet is left alone before it is measured: after some seconds agents close the connection
	// that a report opened in addition to that of the long poll.
	settle = 8 * time.Second
	// labelled is a number of hosts that suffices for a percentile.
	labelled = 2_000
	// labelEvery paces the triggers: without it the client that sets them would be the bottleneck.
	labelEvery = 5 * time.Millisecond
	// patience is the timeout for what takes as long as the agents' backoff.
	patience = 10 * time.Minute
)

var _ = Describe("One replica", Ordered, func() {
	var (
		namespaces []string
		hosts      []*host
		polls      context.Context
		figures    *result
	)

	BeforeAll(func(ctx SpecContext) {
		figures = &result{size: fleet, Processors: runtime.NumCPU()}
		for left := fleet.Hosts; left > 0; left -= perRegistration {
			endpoint, err := apitest.OpenRegistration(ctx, plane, server.Endpoint, "edge", infrav1.ElementalRegistrationSpec{Approval: infrav1.ApprovalAuto})
			Expect(err).NotTo(HaveOccurred())
			some := newFleet(endpoint, min(left, perRegistration))
			Eventually(func() error {
				_, err := some[0].client.Registration(ctx)
				return err
			}, "30s", "100ms").Should(Succeed())
			namespaces, hosts = append(namespaces, endpoint.Namespace), append(hosts, some...)
		}
		var stop context.CancelFunc
		polls, stop = context.WithCancel(context.Background())
		DeferCleanup(stop)
		DeferCleanup(func() { figures.report() })
	})

	It("registers hosts concurrently, none lost and none duplicated", func(ctx SpecContext) {
		for first := 0; first < len(hosts); first += perBurst {
			burst := hosts[first:min(first+perBurst, len(hosts))]
			before, used := count(ctx), server.usage()
			took := together(burst, func(one *host) error { return one.register(ctx) })
			figures.registrations(took, count(ctx).since(before), server.usage().since(used), failuresOf(burst))
		}
		expectRegistered(ctx, namespaces, hosts)
	}, NodeTimeout(patience))

	It("stores only changes in reports", func(ctx SpecContext) {
		for _, name := range []string{"new", "repeated"} {
			before, used := count(ctx), server.usage()
			took := together(hosts, func(one *host) error { return one.report(ctx, "b-1") })
			figures.reports(name, took, count(ctx).since(before), server.usage().since(used), failuresOf(hosts))
		}
		expectRegistered(ctx, namespaces, hosts)
	}, NodeTimeout(patience))

	It("serves idle hosts at the cost of memory only", func(ctx SpecContext) {
		// The connections of the reports are closed first.
		for _, one := range hosts {
			one.client.Close()
		}
		Eventually(func() int { return server.usage().Goroutines }, "20s", "500ms").Should(BeNumerically("<", 100))
		empty := server.held()

		together(hosts, func(one *host) error { return one.ask(ctx) })
		for _, one := range hosts {
			go one.poll(polls)
		}
		Eventually(func() int { return server.usage().HeldPolls }, patience, "500ms").Should(Equal(len(hosts)))
		wait(ctx, settle)
		before, used := count(ctx), server.usage()
		wait(ctx, idle)
		figures.idle(count(ctx).since(before), server.usage().since(used), empty, server.held(), len(hosts))
	}, NodeTimeout(patience))

	It("delivers a label to its host", func(ctx SpecContext) {
		delays := make([]time.Duration, 0, labelled)
		step := max(1, len(hosts)/labelled)
		for i := 0; i < len(hosts); i += step {
			wait(ctx, labelEvery)
			delays = append(delays, hosts[i].label(ctx))
		}
		figures.labels(delays, server.usage().HeldPolls)
	}, NodeTimeout(patience))
})

// label sets the label of a host, and returns how long it took until the agent received the change.
func (h *host) label(ctx context.Context) time.Duration {
	GinkgoHelper()
	object := &infrav1.ElementalHost{}
	object.Namespace, object.Name = h.namespace, h.name
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+infrav1.NeedsResetLabel+`":"true"}}}`))
	since := time.Now()
	Expect(plane.Client.Patch(ctx, object, patch)).To(Succeed())
	var at time.Time
	Eventually(h.told, patience).Should(Receive(&at), "host %s/%s", h.namespace, h.name)
	return at.Sub(since)
}

// expectRegistered fails if a host is lost or duplicated.
func expectRegistered(ctx context.Context, namespaces []string, hosts []*host) {
	GinkgoHelper()
	names, keys := map[client.ObjectKey]bool{}, map[string]bool{}
	for _, namespace := range namespaces {
		found := &infrav1.ElementalHostList{}
		Expect(plane.Client.List(ctx, found, client.InNamespace(namespace))).To(Succeed())
		for i := range found.Items {
			names[client.ObjectKeyFromObject(&found.Items[i])] = true
			keys[found.Items[i].Spec.PubKey] = true
		}
	}
	for _, one := range hosts {
		Expect(names).To(HaveKey(client.ObjectKey{Namespace: one.namespace, Name: one.name}))
	}
	Expect(names).To(HaveLen(len(hosts)), "hosts that nobody registered")
	Expect(keys).To(HaveLen(len(hosts)), "hosts with one key")
}

func wait(ctx context.Context, how time.Duration) {
	timer := time.NewTimer(how)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
