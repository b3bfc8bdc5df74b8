// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
)

const (
	// Aims of the project for one replica.
	aimLatency      = time.Second
	aimBytesPerPoll = 20 << 10
	// doorBurst hosts register through one registration, which takes 2,000 at once; the scout is one.
	doorBurst = 1900
	// settle is how long the fleet is left alone before it is measured: agents close the connection
	// that a report opened beside the held one after some seconds.
	settle = 8 * time.Second
	// labelEvery paces the triggers: all at once would measure the client that sets them.
	labelEvery = 5 * time.Millisecond
)

func tell(format string, args ...any) {
	AddReportEntry(fmt.Sprintf(format, args...), ReportEntryVisibilityAlways)
}

var _ = Describe("One replica", Ordered, func() {
	var (
		endpoints []*apitest.RegistrationEndpoint
		hosts     []*host
		polls     context.Context
	)

	BeforeAll(func(ctx SpecContext) {
		for rest := fleet; rest > 0; rest -= doorBurst {
			endpoint, err := apitest.OpenRegistration(ctx, plane, server.Endpoint, "edge", infrav1.ElementalRegistrationSpec{Approval: infrav1.ApprovalAuto})
			Expect(err).NotTo(HaveOccurred())
			scout := newFleet(endpoint, 1)[0]
			Eventually(func() error { return scout.register(ctx) }, "30s", "100ms").Should(Succeed())
			endpoints, hosts = append(endpoints, endpoint), append(hosts, newFleet(endpoint, min(rest, doorBurst))...)
		}
		var stop context.CancelFunc
		polls, stop = context.WithCancel(context.Background())
		DeferCleanup(stop)
	})

	It("registers a burst of hosts, none lost and none doubled", func(ctx SpecContext) {
		before := count(ctx)
		took, failed := together(hosts, func(one *host) error { return one.register(ctx) })
		Expect(failed).To(BeEmpty())
		requests := count(ctx).since(before)

		names := map[client.ObjectKey]bool{}
		for _, endpoint := range endpoints {
			found := &infrav1.ElementalHostList{}
			Expect(plane.Client.List(ctx, found, client.InNamespace(endpoint.Namespace))).To(Succeed())
			for i := range found.Items {
				names[client.ObjectKeyFromObject(&found.Items[i])] = true
			}
		}
		for _, one := range hosts {
			Expect(names).To(HaveKey(client.ObjectKey{Namespace: one.namespace, Name: one.name}))
		}
		Expect(names).To(HaveLen(len(hosts)+len(endpoints)), "the scouts are more")
		Expect(requests.writes).To(BeEquivalentTo(len(hosts)), "one write each")
		tell("registration: %d hosts at once in %s, %.0f hosts/s, 0 lost, 0 doubled, %.0f writes, %.0f reads",
			len(hosts), took.Round(time.Millisecond), float64(len(hosts))/took.Seconds(), requests.writes, requests.reads)
	})

	It("stores what is new in reports, and nothing else", func(ctx SpecContext) {
		before := count(ctx)
		took, failed := together(hosts, func(one *host) error { return one.report(ctx, "b-1") })
		Expect(failed).To(BeEmpty())
		Expect(count(ctx).since(before)).To(Equal(tally{writes: float64(len(hosts))}))
		again, failed := together(hosts, func(one *host) error { return one.report(ctx, "b-1") })
		Expect(failed).To(BeEmpty())
		Expect(count(ctx).since(before)).To(Equal(tally{writes: float64(len(hosts))}))
		tell("reports: %d new in %s (%.0f/s), %d repeated in %s (%.0f/s, 0 writes)", len(hosts), took.Round(time.Millisecond),
			float64(len(hosts))/took.Seconds(), len(hosts), again.Round(time.Millisecond), float64(len(hosts))/again.Seconds())
	})

	It("holds idle hosts for nothing but memory", func(ctx SpecContext) {
		// The connections of the reports go first.
		for _, one := range hosts {
			one.client.Close()
		}
		Eventually(func() int { return server.usage().Goroutines }, "20s", "500ms").Should(BeNumerically("<", 100))
		empty := server.usage()

		_, failed := together(hosts, func(one *host) error { return one.ask(ctx) })
		Expect(failed).To(BeEmpty())
		for _, one := range hosts {
			go one.poll(polls)
		}
		wait(ctx, settle)
		before, full := count(ctx), server.usage()
		wait(ctx, idle)
		idled := count(ctx).since(before)
		after := server.usage()

		held := uint64(len(hosts))
		bytes := (after.HeapBytes + after.StackBytes - empty.HeapBytes - empty.StackBytes) / held
		tell("idle: %d hosts for %s: %.0f writes, %.0f reads, %s CPU", held, idle, idled.writes, idled.reads,
			(after.CPU - full.CPU).Round(time.Millisecond))
		tell("idle: %d bytes each (heap %d, stacks %d, %.1f goroutines), RSS %d MiB with %d hosts, %d MiB without", bytes,
			(after.HeapBytes-empty.HeapBytes)/held, (after.StackBytes-empty.StackBytes)/held,
			float64(after.Goroutines-empty.Goroutines)/float64(held), after.RSSBytes>>20, held, empty.RSSBytes>>20)
		Expect(idled).To(Equal(tally{}), "an idle host is a held connection and nothing else")
		Expect(bytes).To(BeNumerically("<=", 2*aimBytesPerPoll))
	})

	It("brings a label to its host", func(ctx SpecContext) {
		delays := make([]time.Duration, 0, len(hosts))
		for _, one := range hosts {
			wait(ctx, labelEvery)
			since := time.Now()
			object := &infrav1.ElementalHost{}
			object.Namespace, object.Name = one.namespace, one.name
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+infrav1.NeedsResetLabel+`":"true"}}}`))
			Expect(plane.Client.Patch(ctx, object, patch)).To(Succeed())
			var at time.Time
			Eventually(one.told, "10s").Should(Receive(&at))
			delays = append(delays, at.Sub(since))
		}
		tell("label to answer, the write included: p50 %s, p99 %s, max %s",
			quantile(delays, 0.5), quantile(delays, 0.99), quantile(delays, 1))
		Expect(quantile(delays, 0.99)).To(BeNumerically("<", aimLatency))
	})
})

func wait(ctx context.Context, how time.Duration) {
	timer := time.NewTimer(how)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
