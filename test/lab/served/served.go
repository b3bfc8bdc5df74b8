// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HasEnded reports whether a definition was deleted, and its kind is not served any more.
func HasEnded(ctx context.Context, kube client.Client, definition client.Object, kind schema.GroupVersionKind) (bool, error) {
	if !apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(definition), definition)) {
		return false, nil
	}
	isServed, err := Is(ctx, kube, kind)
	return !isServed, err
}

// Is reports whether objects of a namespaced kind can be read. An API server that does not serve it returns 404 without
// a Status.
func Is(ctx context.Context, kube client.Client, kind schema.GroupVersionKind) (bool, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	err := kube.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "none"}, object)
	switch {
	case meta.IsNoMatchError(err), apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return false, nil
	case apierrors.IsNotFound(err):
		return true, nil
	}
	return err == nil, err
}
