// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package existing

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Get reads an object into the given one, and returns it, or nil if it does not exist or the name is empty. Errors name the object.
func Get[T client.Object](ctx context.Context, reader client.Reader, into T, namespace, name string, options ...client.GetOption) (T, error) {
	var none T
	if name == "" {
		return none, nil
	}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into, options...)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("reading %T %s/%s: %w", into, namespace, name, err)
	}
	return into, nil
}
