// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"bytes"
	"context"
	"errors"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// crashing is a manager that is killed before it changes a reference.
type crashing struct{ client.Client }

func (c crashing) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if _, isOwner := object.(*clusterv1.MachineDeployment); isOwner {
		return context.Canceled
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

// writesBy patches as somebody else.
type writesBy struct {
	client.Client
	writer client.Client
}

func (w writesBy) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return w.writer.Patch(ctx, object, patch, options...)
}

// refuses is a policy that lets nobody change a reference.
type refuses struct {
	client.Client
	err error
}

func (r refuses) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if data, err := patch.Data(object); err != nil || bytes.Contains(data, []byte("infrastructureRef")) {
		return errors.Join(err, r.err)
	}
	return r.Client.Patch(ctx, object, patch, options...)
}

var errUnreadable = errors.New("not today")

// unreadable is an API server that lists no objects of a kind.
type unreadable struct {
	client.Client
	kind client.Object
}

func (u unreadable) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	listed, err := u.GroupVersionKindFor(list)
	if err != nil {
		return err
	}
	kind, err := u.GroupVersionKindFor(u.kind)
	if err != nil {
		return err
	}
	if listed.Group == kind.Group && listed.Kind == kind.Kind+"List" {
		return errUnreadable
	}
	return u.Client.List(ctx, list, options...)
}
