// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enqueue makes requests of the objects that a watch maps an event to.
package enqueue

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// All objects that were listed. An error is only logged: a watch has nobody to return it to.
func All[T any, Object object[T]](ctx context.Context, found []T, err error) []reconcile.Request {
	return Matching(ctx, found, err, func(Object) bool { return true })
}

// Matching is All of those that match.
func Matching[T any, Object object[T]](ctx context.Context, found []T, err error, match func(Object) bool) []reconcile.Request {
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list what is to be reconciled")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(found))
	for i := range found {
		if match(&found[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(Object(&found[i]))})
		}
	}
	return requests
}

type object[T any] interface {
	*T
	client.Object
}
