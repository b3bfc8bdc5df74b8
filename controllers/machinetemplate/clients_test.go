// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

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

// unreadableKinds is an API server that reads no objects of the kinds of others.
type unreadableKinds struct{ client.Reader }

func (u unreadableKinds) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, isOthers := object.(*unstructured.Unstructured); isOthers {
		return errUnreadable
	}
	return u.Reader.Get(ctx, key, object, options...)
}

// unheard is a cache that has not heard of any rollout.
type unheard struct{ client.Client }

func (u unheard) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, isOne := list.(*infrav1.ElementalRolloutList); isOne {
		return nil
	}
	return u.Client.List(ctx, list, options...)
}

// overtaken is a client whose patches that give an ElementalMachine an OS come after another client's write to it.
type overtaken struct {
	client.Client
	name string
}

func (o overtaken) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	machine, isMachine := obj.(*infrav1.ElementalMachine)
	if data, err := patch.Data(obj); err == nil && isMachine && machine.Name == o.name && strings.Contains(string(data), "osVersionManagement") {
		other := &infrav1.ElementalMachine{}
		if err := o.Get(ctx, client.ObjectKeyFromObject(obj), other); err != nil {
			return err
		}
		before := other.DeepCopy()
		annotations.AddAnnotations(other, map[string]string{"of": "another client"})
		if err := o.Client.Patch(ctx, other, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return o.Client.Patch(ctx, obj, patch, options...)
}
