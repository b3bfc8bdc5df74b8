// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Counting is a client that counts what a controller reads: single objects, with which a reconcile begins, and those of
// lists.
type Counting struct {
	client.Client
	gets, seen, listed atomic.Int64
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

// List counts the objects that it returns.
func (c *Counting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := c.Client.List(ctx, list, options...)
	c.listed.Add(int64(meta.LenList(list)))
	return err
}

// Listed is how many objects lists have returned since this was last asked.
func (c *Counting) Listed() int64 { return c.listed.Swap(0) }
