// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// snapshot is a cache that shows one host.
type snapshot struct {
	client.Reader
	host *infrav1.ElementalHost
}

func (s snapshot) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.host.DeepCopyInto(into.(*infrav1.ElementalHost))
	return nil
}

var _ = Describe("A poll that crosses a change", func() {
	var before, after *infrav1.ElementalHost

	BeforeEach(func() {
		before = &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "m-1", UID: "1"}}
		after = before.DeepCopy()
		after.Spec.Approved = true
	})

	poll := func(hub *hub, shown *infrav1.ElementalHost) (reply, error) {
		server := &Server{hub: hub, hosts: newHosts(snapshot{host: shown}, nil)}
		known := Desired(before)
		return server.makePending(httptest.NewRequest("GET", "/", nil), before, &known, time.Minute)
	}

	It("is answered when the change came before it entered the hub", func() {
		hub := newHub()
		answer, err := poll(hub, after)
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.body).To(Equal(Desired(after)))
		Expect(hub.waiting).To(BeEmpty())
	})

	It("is answered when the change came after it entered and before it fell asleep", func() {
		hub := newHub()
		answer, err := poll(hub, before)
		Expect(err).NotTo(HaveOccurred())
		hub.changed(after)
		Expect(hub.asleep(answer.later.waiter, func() { Fail("woken without having slept") })).To(BeFalse())
		want := Desired(after)
		Expect(hub.leave(answer.later.key, answer.later.waiter)).To(Equal(&want))
	})

	It("is woken once, however much changes", func() {
		hub := newHub()
		answer, err := poll(hub, before)
		Expect(err).NotTo(HaveOccurred())
		woken := 0
		Expect(hub.asleep(answer.later.waiter, func() { woken++ })).To(BeTrue())
		hub.changed(before)
		Expect(woken).To(BeZero(), "nothing changed for it")
		hub.changed(after)
		hub.gone(answer.later.key)
		hub.close()
		Expect(woken).To(Equal(1))
	})

	It("is refused when the name changed hands", func() {
		heir := before.DeepCopy()
		heir.UID = "2"
		hub := newHub()
		_, err := poll(hub, heir)
		Expect(asFailure(err).answer.Code).To(Equal(404))
		Expect(hub.waiting).To(BeEmpty())

		answer, err := poll(hub, before)
		Expect(err).NotTo(HaveOccurred())
		hub.changed(heir)
		Expect(hub.leave(answer.later.key, answer.later.waiter)).To(BeNil())
	})

	It("is answered at once by a server that stops", func() {
		hub := newHub()
		hub.close()
		answer, err := poll(hub, before)
		Expect(err).NotTo(HaveOccurred())
		Expect(hub.asleep(answer.later.waiter, func() {})).To(BeFalse())
		known := Desired(before)
		Expect(hub.leave(answer.later.key, answer.later.waiter)).To(Equal(&known))
	})
})

var _ = Describe("What was written and the cache does not show yet", func() {
	host := func(version, phase string) *infrav1.ElementalHost {
		return &infrav1.ElementalHost{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "m-1", UID: "1", ResourceVersion: version},
			Status:     infrav1.ElementalHostStatus{Phase: infrav1.HostPhase(phase)},
		}
	}
	latest := func(cached, written *infrav1.ElementalHost) string {
		reports := newReporter(nil, nil, newHosts(snapshot{host: cached}, nil), nil)
		key := client.ObjectKeyFromObject(cached)
		reports.remember(context.Background(), key, written)
		return string(reports.latest(context.Background(), key, nil).Status.Phase)
	}

	DescribeTable("counts until the cache has caught up", func(cached, written *infrav1.ElementalHost, want string) {
		Expect(latest(cached, written)).To(Equal(want))
	},
		Entry("the cache is late", host("9", "Installing"), host("10", "Running"), "Running"),
		Entry("the cache shows it", host("10", "Running"), host("10", "Running"), "Running"),
		Entry("the cache is ahead", host("11", "Installing"), host("10", "Running"), "Installing"),
	)

	It("does not count for another host of the name", func() {
		heir := host("9", "Registering")
		heir.UID = "2"
		Expect(latest(heir, host("10", "Running"))).To(Equal("Registering"))
	})

	It("is dropped when the informer shows it", func() {
		reports := newReporter(nil, nil, newHosts(snapshot{host: host("9", "")}, nil), nil)
		key := client.ObjectKey{Namespace: "prod", Name: "m-1"}
		reports.remember(context.Background(), key, host("10", "Running"))
		Expect(reports.written).To(HaveLen(1))
		reports.observed(host("9", ""))
		Expect(reports.written).To(HaveLen(1))
		reports.observed(host("10", "Running"))
		Expect(reports.written).To(BeEmpty())
	})
})

var _ = Describe("The record of an outdated agent", func() {
	It("does not replace a report that waits to be stored and is answered with it", func(ctx SpecContext) {
		host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "m-1"}}
		report := infrav1.ElementalHostStatus{Phase: infrav1.HostPhaseRunning, Agent: infrav1.HostAgent{Version: "v0.8.0"}}
		waiting := &batch{host: host, status: report, done: make(chan struct{})}
		reports := &reporter{next: map[types.NamespacedName]*batch{client.ObjectKeyFromObject(host): waiting}}
		outdated := infrav1.ElementalHostStatus{Agent: infrav1.HostAgent{Outdated: true}}
		Expect(reports.enqueue(ctx, host, outdated)).To(BeIdenticalTo(waiting))
		Expect(waiting.status).To(Equal(report))

		waiting.status = outdated
		reports.enqueue(ctx, host, report)
		Expect(waiting.status).To(Equal(report), "a later report does replace it")
	})
})
