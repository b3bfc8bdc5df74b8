// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// flood is somebody with a registration token who wants to fill etcd.
type flood struct {
	server   *replica
	endpoint *apitest.RegistrationEndpoint
	hosts    []*machine
	said     atomic.Int64
}

// registers another host, as large as hosts may be.
func (f *flood) registers(ctx context.Context, one *machine) int {
	body := one.create()
	body.Labels = map[string]string{}
	for n := range 430 {
		body.Labels[fmt.Sprintf("x%02x", n)] = ""
	}
	return f.server.register(ctx, one, body).status
}

// says something new, as long as it may be.
func (f *flood) says(ctx context.Context, one *machine) int { return f.isIn(ctx, one, "") }

// isIn is says, in a phase.
func (f *flood) isIn(ctx context.Context, one *machine, phase string) int {
	long := fmt.Sprint(f.said.Add(1)) + strings.Repeat("x", 200)
	what := wire.Report{Phase: phase, Message: strings.Repeat(long, 5), OS: wire.OS{ImageURI: strings.Repeat("u", 1024), Version: long}}
	for range 32 {
		what.Addresses = append(what.Addresses, wire.Address{Type: "InternalDNS", Address: long})
	}
	return f.server.report(ctx, one, what).status
}

// drain uses up what is given at once: by many hosts until one is refused, and by what those say.
func (f *flood) drain(ctx context.Context) {
	GinkgoHelper()
	const wave = 50
	for refused := false; !refused; {
		statuses := make([]int, wave)
		calls := errgroup.Group{}
		calls.SetLimit(8)
		for n := range wave {
			one := newMachine(f.endpoint, fmt.Sprintf("m-%d", len(f.hosts)))
			f.hosts = append(f.hosts, one)
			calls.Go(func() error { statuses[n] = f.registers(ctx, one); return nil })
		}
		Expect(calls.Wait()).To(Succeed())
		for _, status := range statuses {
			Expect(status).To(BeElementOf(http.StatusCreated, http.StatusTooManyRequests))
			refused = refused || status == http.StatusTooManyRequests
		}
		Expect(len(f.hosts)).To(BeNumerically("<=", 2000+wave), "hosts at once")
	}
	// The last wave is the one that was refused.
	f.hosts = f.hosts[:len(f.hosts)-wave]
	for _, one := range f.hosts {
		if f.says(ctx, one) != http.StatusNoContent {
			return
		}
	}
}

// tries what it can for a moment: hosts that register, and hosts that say something.
func (f *flood) tries(ctx context.Context, name string) (stored int) {
	const patience = 50
	for n := range patience {
		one := newMachine(f.endpoint, fmt.Sprintf("%s-%d", name, n))
		if f.registers(ctx, one) != http.StatusCreated {
			break
		}
		f.hosts = append(f.hosts, one)
		stored++
		stored += f.movesOn(ctx, one)
	}
	for range patience {
		// The one that registered, or spoke, longest ago.
		one := f.hosts[0]
		f.hosts = append(f.hosts[1:], one)
		if f.says(ctx, one) != http.StatusNoContent {
			break
		}
		stored++
	}
	return stored
}

// movesOn has a new host say that it gets further until that is refused.
func (f *flood) movesOn(ctx context.Context, one *machine) (stored int) {
	for _, phase := range []string{wire.HostRegistering, wire.HostFinalizingRegistration, wire.HostInstalling, wire.HostBootstrapping, wire.HostRunning} {
		if f.isIn(ctx, one, phase) != http.StatusNoContent {
			break
		}
		stored++
	}
	return stored
}

// anHour of trying, and what it brought into etcd: writes and bytes.
func (f *flood) anHour(ctx context.Context, name string) (writes, bytes int) {
	GinkgoHelper()
	const moments = 60
	before, err := plane.StoredBytes(ctx)
	Expect(err).NotTo(HaveOccurred())
	for moment := range moments {
		f.server.clock.Step(time.Hour / moments)
		writes += f.tries(ctx, fmt.Sprintf("%s-%d", name, moment))
	}
	after, err := plane.StoredBytes(ctx)
	Expect(err).NotTo(HaveOccurred())
	AddReportEntry(fmt.Sprintf("%s: %d writes and %d KiB in an hour", name, writes, (after-before)>>10), ReportEntryVisibilityAlways)
	return writes, after - before
}

var _ = Describe("A registration token", func() {
	It("writes a few MiB an hour into etcd once its burst is used up, whoever approves its hosts", func(ctx SpecContext) {
		const (
			most  = 6 << 20
			least = 60 // writes: others are still let in
		)
		server := startReplica(clocktesting.NewFakeClock(time.Now()), "")
		endpoint := server.open(ctx, func(*infrav1.ElementalRegistrationSpec) {})
		attack := &flood{server: server, endpoint: endpoint}
		attack.drain(ctx)
		Expect(attack.hosts).To(HaveLen(2000))

		writes, bytes := attack.anHour(ctx, "manual")
		Expect(bytes).To(BeNumerically("<", most))
		Expect(writes).To(BeNumerically(">", least))

		By("approving all hosts that come")
		registration := &infrav1.ElementalRegistration{}
		Expect(plane.Client.Get(ctx, client.ObjectKey{Namespace: endpoint.Namespace, Name: endpoint.Name}, registration)).To(Succeed())
		before := registration.DeepCopy()
		approveAll(&registration.Spec)
		Expect(plane.Client.Patch(ctx, registration, client.MergeFrom(before))).To(Succeed())
		attack.awaitApproval(ctx)
		writes, bytes = attack.anHour(ctx, "auto")
		Expect(bytes).To(BeNumerically("<", most))
		Expect(writes).To(BeNumerically(">", least))
	})
})

// awaitApproval waits until who registers is approved; from then on those hosts attack alone.
func (f *flood) awaitApproval(ctx context.Context) {
	GinkgoHelper()
	n := 0
	Eventually(func(g Gomega) {
		n++
		one := newMachine(f.endpoint, fmt.Sprintf("scout-%d", n))
		f.server.clock.Step(time.Minute)
		g.Expect(f.registers(ctx, one)).To(Equal(http.StatusCreated))
		g.Expect(one.object(ctx).Spec.Approved).To(BeTrue())
		f.hosts = []*machine{one}
	}).Should(Succeed())
}
