// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CallTimeout is how long one call to a workload cluster may take.
const CallTimeout = 10 * time.Second

// WithDeadline returns a reader of a workload cluster's cache of which no call takes longer than CallTimeout. A cache is
// waited for until it has synced, which that of a cluster that is slow to answer may never do.
func WithDeadline(cached client.Reader) client.Reader { return punctual{cached} }

type punctual struct{ cached client.Reader }

func (p punctual) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return called(p.cached.Get(ctx, key, object, options...))
}

func (p punctual) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return called(p.cached.List(ctx, list, options...))
}
