// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Counting is a client that counts what a controller reads of single objects: a reconcile begins with that.
type Counting struct {
	client.Client
	gets, seen atomic.Int64
}

// Get counts.
func (c *Counting) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c.gets.Add(1)
	return c.Client.Get(ctx, key, object, options...)
}

// Rests says whether the controller has reconciled, and nothing since this was last asked; for Eventually.
func (c *Counting) Rests() bool {
	now := c.gets.Load()
	return now > 0 && c.seen.Swap(now) == now
}
