// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// countingReader counts how often a registration is read past the cache.
type countingReader struct {
	client.Reader
	registrations atomic.Int32
}

func (c *countingReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, is := object.(*infrav1.ElementalRegistration); is {
		c.registrations.Add(1)
	}
	return c.Reader.Get(ctx, key, object, options...)
}

var _ = Describe("The API server", func() {
	It("is not asked which keys are denied for hosts that are not let in", func(ctx SpecContext) {
		reads := &countingReader{}
		started := startAPI(func(options *hostapi.Options) {
			reads.Reader = options.APIReader
			options.APIReader = reads
		})
		server := &replica{api: started, by: newHTTPClient(started), clock: clocktesting.NewFakeClock(time.Now())}
		endpoint := server.open(ctx, func(spec *infrav1.ElementalRegistrationSpec) { spec.MaxHosts = ptr.To[int32](1) })
		first, second := newMachine(endpoint, "m-1"), newMachine(endpoint, "m-2")
		Expect(server.register(ctx, first, first.create()).status).To(Equal(http.StatusCreated))
		before := reads.registrations.Load()
		Expect(before).To(BeNumerically(">", 0), "it is asked for one that is")
		for range 3 {
			Expect(server.register(ctx, second, second.create()).status).To(Equal(http.StatusTooManyRequests))
		}
		Expect(reads.registrations.Load()).To(Equal(before))

		By("denying the key")
		registration := &infrav1.ElementalRegistration{}
		Expect(plane.Client.Get(ctx, client.ObjectKey{Namespace: endpoint.Namespace, Name: endpoint.Name}, registration)).To(Succeed())
		registration.Spec.DeniedKeys = []infrav1.DeniedKey{{PubKey: second.pubKey(), Host: second.name, Since: metav1.Now()}}
		Expect(plane.Client.Update(ctx, registration)).To(Succeed())
		Eventually(func() int { return server.register(ctx, second, second.create()).status }).Should(Equal(http.StatusForbidden))
		Expect(reads.registrations.Load()).To(Equal(before))
	})
})

var _ = Describe("A host whose key is denied", func() {
	var (
		endpoint *apitest.RegistrationEndpoint
		host     *machine
	)
	registration := func(ctx context.Context) *infrav1.ElementalRegistration {
		GinkgoHelper()
		found := &infrav1.ElementalRegistration{}
		Expect(plane.Client.Get(ctx, client.ObjectKey{Namespace: endpoint.Namespace, Name: endpoint.Name}, found)).To(Succeed())
		return found
	}
	// deny is what the host controller does when the host is deleted.
	deny := func(ctx context.Context, reset infrav1.DeniedKeyReset) {
		GinkgoHelper()
		changed := registration(ctx)
		before := changed.DeepCopy()
		changed.Spec.DeniedKeys = []infrav1.DeniedKey{{PubKey: host.pubKey(), Host: host.name, Reset: reset, Since: metav1.Now()}}
		Expect(plane.Client.Patch(ctx, changed, client.MergeFrom(before))).To(Succeed())
		host.remove(ctx)
	}
	desired := func(ctx context.Context) func() int {
		return func() int { return host.get(ctx, "/desired").status }
	}
	// resets waits until the server has seen that the host is gone.
	resets := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(func() string { return string(host.get(ctx, "/desired").body) }).Should(ContainSubstring(`"reset":true`))
	}

	BeforeEach(func(ctx SpecContext) {
		endpoint = openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			spec.Approval = infrav1.ApprovalAuto
			spec.Config.Elemental.Reset = map[string]runtime.RawExtension{"resetOem": {Raw: []byte("true")}}
		})
		host = registered(ctx, endpoint, "m-1")
	})

	It("does not register again, not even in the moment in which it is told that it is not known", func(ctx SpecContext) {
		waiting, _ := host.idle(ctx)
		deny(ctx, "")
		var told answer
		Eventually(waiting.answered).Should(Receive(&told))
		Expect(told.status).To(BeElementOf(http.StatusNotFound, http.StatusForbidden))
		refused := host.register(ctx, host.create())
		Expect(refused.status).To(Equal(http.StatusForbidden))
		Expect(refused.message()).To(ContainSubstring("take it off spec.deniedKeys of ElementalRegistration edge"))
		Expect(world(ctx, endpoint.Namespace)).To(BeEmpty())
		Eventually(desired(ctx)).Should(Equal(http.StatusForbidden))
		for _, path := range []string{"/bootstrap", "/desired", "/reset"} {
			Expect(host.get(ctx, path).status).To(Equal(http.StatusForbidden), path)
		}
		Expect(host.report(ctx, wire.Report{}).status).To(Equal(http.StatusForbidden))
		Expect(host.forget(ctx).status).To(Equal(http.StatusForbidden))
		Expect(host.wiped(ctx).status).To(Equal(http.StatusForbidden))

		By("being let in by a person")
		open := registration(ctx)
		before := open.DeepCopy()
		open.Spec.DeniedKeys = nil
		Expect(plane.Client.Patch(ctx, open, client.MergeFrom(before))).To(Succeed())
		Eventually(func() int { return host.register(ctx, host.create()).status }).Should(Equal(http.StatusCreated))
	})

	It("is told to reset itself and how, until it has been wiped, and is denied all the same", func(ctx SpecContext) {
		deny(ctx, infrav1.DeniedKeyResetPending)
		resets(ctx)
		told := into[wire.Desired](host.get(ctx, "/desired"))
		Expect(told).To(Equal(wire.Desired{Revision: told.Revision, Reset: true}))
		began := time.Now()
		Expect(into[wire.Desired](host.get(ctx, "/desired?wait=400ms&revision="+told.Revision))).To(Equal(told))
		Expect(time.Since(began)).To(BeNumerically(">=", 360*time.Millisecond), "its request is held as any other's")
		Expect(host.report(ctx, wire.Report{Phase: wire.HostTriggeringReset}).status).To(Equal(http.StatusNoContent))
		Expect(into[wire.Reset](host.get(ctx, "/reset")).Options).To(MatchJSON(`{"resetOem":true}`))
		Expect(host.get(ctx, "/bootstrap").status).To(Equal(http.StatusForbidden))
		Expect(host.register(ctx, host.create()).status).To(Equal(http.StatusForbidden))

		Expect(host.forget(ctx).status).To(Equal(http.StatusAccepted))
		for range 2 {
			Expect(host.wiped(ctx).status).To(Equal(http.StatusNoContent), "it may have missed the first answer")
		}
		Expect(registration(ctx).Spec.DeniedKeys).To(ConsistOf(And(
			HaveField("Host", "m-1"), HaveField("Reset", infrav1.DeniedKeyResetDone))))
		Eventually(desired(ctx)).Should(Equal(http.StatusForbidden))
		Expect(host.register(ctx, host.create()).status).To(Equal(http.StatusForbidden))
	})

	It("does not stand in for the host that has its name now", func(ctx SpecContext) {
		deny(ctx, infrav1.DeniedKeyResetPending)
		heir := registered(ctx, endpoint, "m-1")
		resets(ctx)
		Expect(into[wire.Desired](heir.get(ctx, "/desired")).Reset).To(BeFalse())
		Expect(host.report(ctx, wire.Report{Phase: wire.HostRunning}).status).To(Equal(http.StatusNoContent))
		Expect(host.wiped(ctx).status).To(Equal(http.StatusNoContent))
		Expect(heir.object(ctx)).To(And(HaveField("Status.Phase", BeEmpty()), HaveField("DeletionTimestamp", BeNil())))
		Expect(newMachine(endpoint, "m-1").get(ctx, "/desired").status).To(Equal(http.StatusUnauthorized), "a third key")
	})
})
