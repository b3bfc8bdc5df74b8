// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Settling is long against the time that a write needs to come back as an event.
const Settling = 500 * time.Millisecond

// Rests returns a function that reports whether a value is what it was when it was last called; for Eventually.
func Rests[T comparable](value func() T) func() bool {
	var last *T
	return func() bool {
		now := value()
		defer func() { last = &now }()
		return last != nil && now == *last
	}
}

// Counting is a client that counts what a controller reads: single objects, with which a reconcile begins, and those
// that its lists scan.
type Counting struct {
	client.Client
	gets, seen, listed atomic.Int64
}

// Get counts.
func (c *Counting) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c.gets.Add(1)
	return c.Client.Get(ctx, key, object, options...)
}

// Rests reports whether the controller has reconciled, but not since the last call; for Eventually.
func (c *Counting) Rests() bool {
	now := c.gets.Load()
	return now > 0 && c.seen.Swap(now) == now
}

// Got is the number of single objects that were read so far.
func (c *Counting) Got() int64 { return c.gets.Load() }

// List counts the objects that it scans: those that it returns or, without a field selector, all of the namespace,
// because a cache filters them by their labels.
func (c *Counting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := c.Client.List(ctx, list, options...)
	looked := meta.LenList(list)
	asked := &client.ListOptions{}
	asked.ApplyOptions(options)
	if asked.FieldSelector == nil && asked.LabelSelector != nil && err == nil {
		all := reflect.New(reflect.TypeOf(list).Elem()).Interface().(client.ObjectList)
		all.GetObjectKind().SetGroupVersionKind(list.GetObjectKind().GroupVersionKind())
		err = c.Client.List(ctx, all, client.InNamespace(asked.Namespace), client.UnsafeDisableDeepCopy)
		looked = meta.LenList(all)
	}
	c.listed.Add(int64(looked))
	return err
}

// Listed is the number of objects that lists have scanned since the last call.
func (c *Counting) Listed() int64 { return c.listed.Swap(0) }
