// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// validator passes the changes of one kind to a check, which denies those that are not safe now.
type validator[T client.Object] struct {
	check func(ctx context.Context, before, after T) error
}

// ofReference is the validator of the references of one kind of owner.
func ofReference[T client.Object](g *Guard, of func(T) owner.Owner) *validator[T] {
	return &validator[T]{check: func(ctx context.Context, before, after T) error { return g.Check(ctx, of(before), of(after)) }}
}

// ValidateCreate accepts everything: a new object has no Machines.
func (v *validator[T]) ValidateCreate(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete accepts everything: it is not called.
func (v *validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate rejects an unsafe change.
func (v *validator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	return nil, v.check(ctx, before, after)
}
