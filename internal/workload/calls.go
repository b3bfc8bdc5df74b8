// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// callError is the error of a call to a workload cluster. A step calls both clusters: without it, what went wrong in one of
// them would be reported of the other.
type callError struct{ error }

func (e callError) Unwrap() error { return e.error }

// called marks an error as one of a call to a workload cluster.
func called(err error) error {
	if err == nil {
		return nil
	}
	return callError{err}
}

// IsFailure reports whether an error is a call to a workload cluster that failed. An object that is not there, exists already
// or was changed meanwhile is an answer, and no failure.
func IsFailure(err error) bool {
	var failed callError
	return errors.As(err, &failed) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err)
}

// IsUnanswered reports whether an error is a call to a workload cluster that its API server did not answer. The next call would
// be waited for as long.
func IsUnanswered(err error) bool {
	var status apierrors.APIStatus
	return IsFailure(err) && !errors.As(err, &status)
}

// calls is the client of a workload cluster, which marks its errors.
type calls struct{ client.Client }

func (c calls) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return called(c.Client.Get(ctx, key, object, options...))
}

func (c calls) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return called(c.Client.List(ctx, list, options...))
}

func (c calls) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return called(c.Client.Create(ctx, object, options...))
}

func (c calls) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return called(c.Client.Delete(ctx, object, options...))
}

func (c calls) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return called(c.Client.Patch(ctx, object, patch, options...))
}

func (c calls) SubResource(name string) client.SubResourceClient {
	return subResourceCalls{c.Client.SubResource(name)}
}

func (c calls) Status() client.SubResourceWriter { return c.SubResource("status") }

type subResourceCalls struct{ client.SubResourceClient }

func (c subResourceCalls) Create(ctx context.Context, object, subResource client.Object, options ...client.SubResourceCreateOption) error {
	return called(c.SubResourceClient.Create(ctx, object, subResource, options...))
}

func (c subResourceCalls) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	return called(c.SubResourceClient.Patch(ctx, object, patch, options...))
}
