// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const refusedWrites = "elemental_hostapi_refused_writes_total"

// replica is a server with a clock that the spec turns.
type replica struct {
	api   *apitest.API
	by    *http.Client
	clock *clocktesting.FakeClock
}

// startReplica starts a server; endpoint is that of the first of several, empty for the first.
func startReplica(clock *clocktesting.FakeClock, endpoint string) *replica {
	GinkgoHelper()
	started := startAPI(func(options *hostapi.Options) {
		options.Clock = clock
		if endpoint != "" {
			options.Endpoint = endpoint
		}
	})
	return &replica{api: started, by: newHTTPClient(started), clock: clock}
}

// open makes a registration that this replica knows.
func (r *replica) open(ctx context.Context, change func(*infrav1.ElementalRegistrationSpec)) *apitest.RegistrationEndpoint {
	GinkgoHelper()
	spec := infrav1.ElementalRegistrationSpec{Approval: infrav1.ApprovalManual}
	change(&spec)
	endpoint, err := apitest.OpenRegistration(ctx, plane, r.api.Endpoint, "edge", spec)
	Expect(err).NotTo(HaveOccurred())
	r.knows(ctx, endpoint)
	return endpoint
}

func (r *replica) knows(ctx context.Context, endpoint *apitest.RegistrationEndpoint) {
	GinkgoHelper()
	Eventually(func() int {
		return request(ctx, r.by, http.MethodGet, r.url(endpoint, ""), nil, r.asRegistration(endpoint)).status
	}).Should(Equal(http.StatusOK))
}

func (r *replica) url(endpoint *apitest.RegistrationEndpoint, path string) string {
	return r.api.Address + token.RegistrationPath(endpoint.Namespace, endpoint.Name) + path
}

func (r *replica) asRegistration(endpoint *apitest.RegistrationEndpoint) header {
	signed, err := token.SignRegistrationToken(endpoint.SigningKey, endpoint.URI, r.clock.Now(), time.Hour)
	if err != nil {
		return header{wire.RegistrationHeader, err.Error()}
	}
	return header{wire.RegistrationHeader, "Bearer " + signed}
}

func (r *replica) asHost(one *machine) header {
	signed, err := token.SignHostToken(one.key, one.name, one.endpoint.URI, r.clock.Now())
	if err != nil {
		return header{wire.HostHeader, err.Error()}
	}
	return header{wire.HostHeader, "Bearer " + signed}
}

func (r *replica) register(ctx context.Context, one *machine, body wire.HostCreate) answer {
	return request(ctx, r.by, http.MethodPost, r.url(one.endpoint, "/hosts"), body, r.asRegistration(one.endpoint), r.asHost(one))
}

func (r *replica) report(ctx context.Context, one *machine, body wire.Report) answer {
	return request(ctx, r.by, http.MethodPost, r.url(one.endpoint, "/hosts/"+one.name+"/report"), body, r.asHost(one))
}

// says reports a message.
func (r *replica) says(ctx context.Context, one *machine, message string) answer {
	return r.report(ctx, one, wire.Report{Message: message})
}

func (a answer) comeBack() time.Duration {
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

var _ = Describe("What an unapproved host reports", func() {
	It("is stored once a minute, whichever replica is told", func(ctx SpecContext) {
		clock := clocktesting.NewFakeClock(time.Now())
		first := startReplica(clock, "")
		second := startReplica(clock, first.api.Endpoint)
		endpoint := first.open(ctx, func(*infrav1.ElementalRegistrationSpec) {})
		second.knows(ctx, endpoint)
		host := newMachine(endpoint, "m-1")
		Expect(first.register(ctx, host, host.create()).status).To(Equal(http.StatusCreated))

		Expect(first.says(ctx, host, "one").status).To(Equal(http.StatusNoContent))
		before := counter(refusedWrites, "reason", "unapproved")
		refused := first.says(ctx, host, "two")
		Expect(refused.status).To(Equal(http.StatusTooManyRequests))
		Expect(refused.message()).To(ContainSubstring("host m-1 is not approved"))
		Expect(refused.comeBack()).To(BeNumerically("~", time.Minute, 2*time.Second))
		Expect(counter(refusedWrites, "reason", "unapproved")).To(Equal(before + 1))
		Expect(first.says(ctx, host, "one").status).To(Equal(http.StatusNoContent), "nothing new is to be stored")
		Eventually(func() int { return second.says(ctx, host, "one").status }).Should(Equal(http.StatusNoContent))
		Expect(second.says(ctx, host, "two").status).To(Equal(http.StatusTooManyRequests))
		Expect(host.object(ctx).Status.Message).To(Equal("one"))

		clock.Step(61 * time.Second)
		Expect(second.says(ctx, host, "two").status).To(Equal(http.StatusNoContent))
		By("a report that a replica stored whose clock is ahead")
		ahead := host.object(ctx)
		ahead.Status.Agent.LastSeen = metav1.NewTime(clock.Now().Add(8 * time.Hour))
		Expect(plane.Client.Status().Update(ctx, ahead)).To(Succeed())
		Eventually(func() int { return second.says(ctx, host, "ahead").status }).Should(Equal(http.StatusNoContent))
		Expect(second.says(ctx, host, "again").status).To(Equal(http.StatusTooManyRequests))
		By("telling of an attempt of its own making")
		attempt := func(phase string) int {
			return second.report(ctx, host, wire.Report{Message: "two", Upgrade: &wire.Attempt{Attempt: "a-1", Phase: phase}}).status
		}
		clock.Step(61 * time.Second)
		Expect(attempt(wire.PhaseAcknowledged)).To(Equal(http.StatusNoContent))
		Expect(attempt(wire.PhaseFetching)).To(Equal(http.StatusTooManyRequests))
		Expect(host.object(ctx).Status.Message).To(Equal("two"))
		By("approving it")
		host.change(ctx, func(object *infrav1.ElementalHost) { object.Spec.Approved = true })
		Eventually(func() int { return second.says(ctx, host, "three").status }).Should(Equal(http.StatusNoContent))
	})
})

var _ = Describe("What an approved host reports", func() {
	It("is stored at a rate, and a new phase of the attempt that is asked of it at once", func(ctx SpecContext) {
		clock := clocktesting.NewFakeClock(time.Now())
		server := startReplica(clock, "")
		endpoint := server.open(ctx, approveAll)
		host := newMachine(endpoint, "m-1")
		Expect(server.register(ctx, host, host.create()).status).To(Equal(http.StatusCreated))
		host.change(ctx, func(object *infrav1.ElementalHost) {
			object.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a-1"}
		})
		asked := func() *wire.Upgrade {
			got := request(ctx, server.by, http.MethodGet, server.url(endpoint, "/hosts/m-1/desired"), nil, server.asHost(host))
			return into[wire.Desired](got).Upgrade
		}
		Eventually(asked).ShouldNot(BeNil())
		attempt := func(id, phase string, message ...string) answer {
			return server.report(ctx, host, wire.Report{Upgrade: &wire.Attempt{Attempt: id, Phase: phase, Message: strings.Join(message, "")}})
		}

		for n := range 120 {
			Expect(server.says(ctx, host, fmt.Sprint(n)).status).To(Equal(http.StatusNoContent))
		}
		refused := server.says(ctx, host, "more")
		Expect(refused.status).To(Equal(http.StatusTooManyRequests))
		Expect(refused.comeBack()).To(Equal(10 * time.Second))

		By("going on with its attempt")
		for _, phase := range []string{wire.PhaseAcknowledged, wire.PhaseFetching, wire.PhaseFetched} {
			Expect(attempt("a-1", phase).status).To(Equal(http.StatusNoContent), phase)
		}
		Expect(attempt("a-1", wire.PhaseFetching).status).To(Equal(http.StatusTooManyRequests), "a host that goes to and fro")
		Expect(attempt("a-2", wire.PhaseFetching).status).To(Equal(http.StatusTooManyRequests), "an attempt that nobody asked for")
		Expect(attempt("a-1", wire.PhaseApplying).status).To(Equal(http.StatusNoContent))

		By("ending it, although it was withdrawn after the host had begun")
		host.change(ctx, func(object *infrav1.ElementalHost) {
			object.Spec.Upgrade, object.Spec.MachineRef = nil, &infrav1.LocalReference{Name: "machine-1"}
		})
		Eventually(asked).Should(BeNil())
		Expect(attempt("a-1", wire.PhaseRebooting).status).To(Equal(http.StatusNoContent))
		Expect(attempt("a-1", wire.PhaseSucceeded).status).To(Equal(http.StatusNoContent))
		Expect(attempt("a-1", wire.PhaseSucceeded, "said otherwise").status).To(Equal(http.StatusTooManyRequests))

		clock.Step(10 * time.Second)
		Expect(server.says(ctx, host, "more").status).To(Equal(http.StatusNoContent))
		Expect(server.says(ctx, host, "and more").status).To(Equal(http.StatusTooManyRequests))
	})
})

var _ = Describe("A host that registers again", func() {
	It("is answered at a rate, and others beside it", func(ctx SpecContext) {
		clock := clocktesting.NewFakeClock(time.Now())
		server := startReplica(clock, "")
		endpoint := server.open(ctx, approveAll)
		host, other := newMachine(endpoint, "m-1"), newMachine(endpoint, "m-2")
		again := func(one *machine) answer { return server.register(ctx, one, one.create()) }
		Expect(again(host).status).To(Equal(http.StatusCreated))
		Expect(again(other).status).To(Equal(http.StatusCreated))
		refused := answer{}
		Eventually(func() int {
			refused = again(host)
			return refused.status
		}).WithPolling(time.Millisecond).Should(Equal(http.StatusTooManyRequests))
		Expect(refused.message()).To(HavePrefix("host m-1 is registered: "))
		Expect(refused.comeBack()).To(Equal(10 * time.Second))
		Expect(again(other).status).To(Equal(http.StatusCreated))
		clock.Step(10 * time.Second)
		Expect(again(host).status).To(Equal(http.StatusCreated))
		Expect(again(host).status).To(Equal(http.StatusTooManyRequests))
	})
})

var _ = Describe("A registration with a bound", func() {
	var (
		clock *clocktesting.FakeClock
		first *replica
	)
	BeforeEach(func() {
		clock = clocktesting.NewFakeClock(time.Now())
		first = startReplica(clock, "")
	})
	// knock has new hosts register at once, and returns how they were answered.
	knock := func(ctx context.Context, endpoint *apitest.RegistrationEndpoint, name string, many int, at ...*replica) (hosts []*machine, statuses []int) {
		GinkgoHelper()
		statuses = make([]int, many)
		for n := range many {
			hosts = append(hosts, newMachine(endpoint, fmt.Sprintf("%s-%d", name, n)))
		}
		bodies := make([]wire.HostCreate, many)
		for n, one := range hosts {
			bodies[n] = one.create()
		}
		var all sync.WaitGroup
		for n, one := range hosts {
			all.Go(func() { statuses[n] = at[n%len(at)].register(ctx, one, bodies[n]).status })
		}
		all.Wait()
		return hosts, statuses
	}

	It("takes spec.maxHosts hosts, however many come at once, and another one when there is a place", func(ctx SpecContext) {
		endpoint := first.open(ctx, func(spec *infrav1.ElementalRegistrationSpec) { spec.MaxHosts = ptr.To[int32](3) })
		before := counter(refusedWrites, "reason", "maxHosts")
		hosts, statuses := knock(ctx, endpoint, "m", 20, first)
		Expect(world(ctx, endpoint.Namespace)).To(HaveLen(3))
		Expect(counter(refusedWrites, "reason", "maxHosts")).To(Equal(before + 17))

		var in, out *machine
		for n, status := range statuses {
			switch status {
			case http.StatusCreated:
				in = hosts[n]
			default:
				Expect(status).To(Equal(http.StatusTooManyRequests))
				out = hosts[n]
			}
		}
		Expect(first.register(ctx, in, in.create()).status).To(Equal(http.StatusCreated), "it is in already")
		restarted := startReplica(clock, first.api.Endpoint)
		restarted.knows(ctx, endpoint)
		refused := restarted.register(ctx, out, out.create())
		Expect(refused.status).To(Equal(http.StatusTooManyRequests))
		Expect(refused.message()).To(ContainSubstring("registration edge has 3 hosts and its spec.maxHosts is 3"))
		Expect(refused.comeBack()).To(Equal(time.Minute))

		in.remove(ctx)
		By("coming back when it was told to: for so long one counts that is deleted before anybody looked for a place again")
		clock.Step(refused.comeBack() + time.Second)
		Eventually(func() int { return first.register(ctx, out, out.create()).status }).Should(Equal(http.StatusCreated))
	})

	It("is exceeded by no more than what several replicas let in before they see it", func(ctx SpecContext) {
		const bound = 5
		second := startReplica(clock, first.api.Endpoint)
		endpoint := first.open(ctx, func(spec *infrav1.ElementalRegistrationSpec) { spec.MaxHosts = ptr.To[int32](bound) })
		second.knows(ctx, endpoint)
		knock(ctx, endpoint, "m", 40, first, second)
		there := len(world(ctx, endpoint.Namespace))
		Expect(there).To(BeNumerically(">=", bound))
		Expect(there).To(BeNumerically("<=", 2*bound))
		_, statuses := knock(ctx, endpoint, "late", 10, first, second)
		Expect(statuses).To(HaveEach(http.StatusTooManyRequests))
		Expect(world(ctx, endpoint.Namespace)).To(HaveLen(there))
	})

	It("takes no more unapproved hosts than spec.maxPending", func(ctx SpecContext) {
		endpoint := first.open(ctx, func(spec *infrav1.ElementalRegistrationSpec) { spec.MaxPending = ptr.To[int32](2) })
		hosts, statuses := knock(ctx, endpoint, "m", 2, first)
		Expect(statuses).To(HaveEach(http.StatusCreated))
		third := newMachine(endpoint, "m-3")
		refused := first.register(ctx, third, third.create())
		Expect(refused.status).To(Equal(http.StatusTooManyRequests))
		Expect(refused.message()).To(ContainSubstring("2 unapproved hosts and its spec.maxPending is 2"))
		hosts[0].change(ctx, func(object *infrav1.ElementalHost) { object.Spec.Approved = true })
		Eventually(func() int { return first.register(ctx, third, third.create()).status }).Should(Equal(http.StatusCreated))
	})

	It("does not count hosts as unapproved that it approves", func(ctx SpecContext) {
		endpoint := first.open(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			approveAll(spec)
			spec.MaxPending = ptr.To[int32](0)
		})
		_, statuses := knock(ctx, endpoint, "m", 3, first)
		Expect(statuses).To(HaveEach(http.StatusCreated))
	})
})
