// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package existing

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Once is a reader for decisions of one moment that look at the same objects: it gets each object from another reader once. What is absent is asked for
// again, and so are lists. It is for one goroutine.
func Once(from client.Reader) client.Reader {
	return &once{Reader: from, got: map[onceKey]client.Object{}}
}

type onceKey struct {
	client.ObjectKey
	kind schema.GroupVersionKind // of objects without a Go type
	as   reflect.Type
}

type once struct {
	client.Reader
	got map[onceKey]client.Object
}

func (o *once) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	of := onceKey{ObjectKey: key, kind: into.GetObjectKind().GroupVersionKind(), as: reflect.TypeOf(into)}
	if known, found := o.got[of]; found {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	if err := o.Reader.Get(ctx, key, into, options...); err != nil {
		return err
	}
	o.got[of], _ = into.DeepCopyObject().(client.Object)
	return nil
}
