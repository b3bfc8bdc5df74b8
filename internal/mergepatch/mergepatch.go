// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package mergepatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Store writes the differences between before and after: metadata and spec first, then the status with its conditions. It
// writes nothing where nothing differs, and leaves both objects as they are. A list that differs, as that of the conditions,
// is replaced as a whole: what another writer had put there would be lost. The status is written even if metadata cannot
// be. Errors are joined; the status of an object whose last finalizer is removed is NotFound.
func Store(ctx context.Context, to client.Client, before, after client.Object) error {
	data, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return fmt.Errorf("comparing with what is stored: %w", err)
	}
	changes := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &changes); err != nil {
		return fmt.Errorf("reading the differences to what is stored: %w", err)
	}
	status, hasStatus := changes["status"]
	delete(changes, "status")
	failed := []error{}
	if len(changes) > 0 {
		failed = append(failed, write(ctx, to.Patch, before, changes))
	}
	if hasStatus {
		patch := func(ctx context.Context, object client.Object, with client.Patch, _ ...client.PatchOption) error {
			return to.Status().Patch(ctx, object, with)
		}
		failed = append(failed, write(ctx, patch, before, map[string]json.RawMessage{"status": status}))
	}
	return errors.Join(failed...)
}

type patchFunc func(ctx context.Context, object client.Object, with client.Patch, options ...client.PatchOption) error

// write sends the changes. What is answered goes to a copy.
func write(ctx context.Context, patch patchFunc, object client.Object, changes map[string]json.RawMessage) error {
	data, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	target, _ := object.DeepCopyObject().(client.Object)
	return patch(ctx, target, client.RawPatch(types.MergePatchType, data))
}
