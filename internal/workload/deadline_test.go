// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// unsynced is a cache that tells how long it would wait for.
type unsynced struct{ deadlines []time.Time }

func (u *unsynced) wait(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	u.deadlines = append(u.deadlines, deadline)
	return context.DeadlineExceeded
}

func (u *unsynced) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return u.wait(ctx)
}

func (u *unsynced) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	return u.wait(ctx)
}

var _ = Describe("A cache that has not synced", func() {
	It("is waited for as long as for any other call", func(ctx SpecContext) {
		cache := &unsynced{}
		reader := workload.WithDeadline(cache)
		Expect(reader.Get(ctx, client.ObjectKey{Name: "n"}, &corev1.Node{})).To(MatchError(context.DeadlineExceeded))
		Expect(reader.List(ctx, &corev1.NodeList{})).To(MatchError(context.DeadlineExceeded))
		Expect(cache.deadlines).To(HaveEach(BeTemporally("~", time.Now().Add(workload.CallTimeout), time.Second)))
		Expect(cache.deadlines).To(HaveLen(2))
	})
})
