// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predicates_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// delays is a queue that records what is added after how long.
type delays struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added map[string]time.Duration
}

func (d *delays) AddAfter(request reconcile.Request, after time.Duration) {
	d.added[request.Name] = after
}

var _ = Describe("AfterMoment", func() {
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	handler := predicates.AfterMoment(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
	})

	DescribeTable("enqueues after two seconds", func(ctx SpecContext, happens func(context.Context, *delays), names ...string) {
		queue := &delays{added: map[string]time.Duration{}}
		happens(ctx, queue)
		expected := map[string]time.Duration{}
		for _, name := range names {
			expected[name] = 2 * time.Second
		}
		Expect(queue.added).To(Equal(expected))
	},
		Entry("what is created", func(ctx context.Context, q *delays) { handler.Create(ctx, event.CreateEvent{Object: node("a")}, q) }, "a"),
		Entry("what is deleted", func(ctx context.Context, q *delays) { handler.Delete(ctx, event.DeleteEvent{Object: node("a")}, q) }, "a"),
		Entry("what an object belonged to, and what it belongs to", func(ctx context.Context, q *delays) {
			handler.Update(ctx, event.UpdateEvent{ObjectOld: node("a"), ObjectNew: node("b")}, q)
		}, "a", "b"),
	)
})
