// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Indexed is a client of an API server that also lists by the indexes of a manager's cache. It is for controllers that
// run without a manager, so that a reconcile sees everything that was written before it.
type Indexed struct {
	client.Client
	indexes map[index]client.IndexerFunc
}

// index of the objects of a type by a field.
type index struct {
	object reflect.Type
	field  string
}

// NewIndexed returns a client with the indexes that add registers.
func NewIndexed(inner client.Client, add func(context.Context, client.FieldIndexer) error) *Indexed {
	i := &Indexed{Client: inner, indexes: map[index]client.IndexerFunc{}}
	if err := add(context.Background(), i); err != nil {
		panic(fmt.Sprintf("adding indexes, which only remembers them: %v", err))
	}
	return i
}

// IndexField makes lists support a selector for the field.
func (i *Indexed) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	i.indexes[index{reflect.TypeOf(object).Elem(), field}] = values
	return nil
}

// List lists from the API server, except for a selector on one indexed field.
func (i *Indexed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := &client.ListOptions{}
	asked.ApplyOptions(options)
	values, value := i.asked(list, asked.FieldSelector)
	if values == nil {
		return i.Client.List(ctx, list, options...)
	}
	asked.FieldSelector = nil
	if err := i.Client.List(ctx, list, asked); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("reading %T: %w", list, err)
	}
	return meta.SetList(list, slices.DeleteFunc(items, func(item runtime.Object) bool {
		object, isObject := item.(client.Object)
		if isObject {
			object.SetManagedFields(nil) // the manager's cache keeps none
		}
		return !isObject || !slices.Contains(values(object), value)
	}))
}

// asked is the index and the value of a selector; nil if it uses no index, or more than one field.
func (i *Indexed) asked(list client.ObjectList, selector fields.Selector) (client.IndexerFunc, string) {
	if selector == nil || len(selector.Requirements()) != 1 {
		return nil, ""
	}
	items, isTyped := reflect.TypeOf(list).Elem().FieldByName("Items")
	if !isTyped {
		return nil, ""
	}
	one := selector.Requirements()[0]
	return i.indexes[index{items.Type.Elem(), one.Field}], one.Value
}
