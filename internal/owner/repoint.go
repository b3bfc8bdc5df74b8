// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// ErrReferenceChanged means that an owner does not refer to the expected template, or that this provider had already
// pointed it to the wanted one and the change was reverted.
var ErrReferenceChanged = errors.New("another party has changed the reference")

// RePoint makes an owner refer to the template to instead of from, once: it does not repeat a change that was reverted,
// because it would otherwise fight with a GitOps tool or a person. edit may make further changes to the current owner,
// or refuse by an error. The reference, the record of it and the changes of edit are one patch, which fails after any
// concurrent write to the owner.
func (o *Owners) RePoint(ctx context.Context, of Owner, from, to string, edit func(Owner) error) error {
	fresh, err := o.Reload(ctx, of)
	if err != nil {
		return err
	}
	if TemplateName(fresh) != from || fresh.Object().GetAnnotations()[infrav1.RolloutCloneAnnotation] == to {
		return fmt.Errorf("pointing %s to %s: %w", Describe(of), to, ErrReferenceChanged)
	}
	object := fresh.Object()
	base, isObject := object.DeepCopyObject().(client.Object)
	if !isObject {
		return fmt.Errorf("copying %s: not an API object", Describe(of))
	}
	fresh.reference().Name = to
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[infrav1.RolloutCloneAnnotation] = to
	object.SetAnnotations(annotations)
	if err := edit(fresh); err != nil {
		return fmt.Errorf("pointing %s to %s: %w", Describe(of), to, err)
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := o.Client.Patch(ctx, object, patch); err != nil {
		return fmt.Errorf("pointing %s to ElementalMachineTemplate %s: %w", Describe(of), to, err)
	}
	return nil
}
