// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// validator passes the changes of one kind to the guard.
type validator[T client.Object] struct {
	guard *Guard
	owner func(T) owner.Owner
}

// ValidateCreate accepts everything: a new object has no Machines.
func (v *validator[T]) ValidateCreate(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete accepts everything: it is not called.
func (v *validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate rejects an unsafe change of the reference.
func (v *validator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	return nil, v.guard.Check(ctx, v.owner(before), v.owner(after))
}
