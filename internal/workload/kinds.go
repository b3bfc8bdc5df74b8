// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// Reading is a workload cluster of which a State is read, and that may lack kinds.
type Reading interface {
	client.Client
	// Find returns the version of a kind that the cluster prefers; found is false if it does not have the kind.
	Find(kind schema.GroupKind) (gvk schema.GroupVersionKind, found bool, err error)
}

// Asking is a Reading that asks for a kind each time that it is looked for.
type Asking struct{ client.Client }

// Find is Reading's.
func (a Asking) Find(kind schema.GroupKind) (gvk schema.GroupVersionKind, found bool, err error) {
	mapping, err := a.RESTMapper().RESTMapping(kind)
	if existing.IsAbsent(err) {
		return gvk, false, nil
	}
	if err != nil {
		return gvk, false, fmt.Errorf("looking for kind %s: %w", kind, called(err))
	}
	return mapping.GroupVersionKind, true, nil
}

// Objects of a kind in all namespaces; found is false if the cluster does not have the kind.
func Objects(ctx context.Context, in Reading, kind schema.GroupKind, options ...client.ListOption) (objects []unstructured.Unstructured, found bool, err error) {
	gvk, found, err := in.Find(kind)
	if err != nil || !found {
		return nil, false, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	if err := in.List(ctx, list, options...); err != nil {
		return nil, false, existing.UnlessAbsent(err, "listing "+kind.String())
	}
	return list.Items, true, nil
}
