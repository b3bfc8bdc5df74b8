// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// calls intercepts the calls of the Memory's client.
func (m *Memory) calls() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return m.read(object, query{key: key}, func() error { return c.Get(ctx, key, object, options...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return m.read(list, query{list: true, selection: selection(options)}, func() error { return c.List(ctx, list, options...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return m.write(object, len(options), func() error { return c.Create(ctx, object, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return m.write(object, len(options), func() error { return c.Update(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return m.write(object, len(options), func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return m.remove(object, func() error { return c.Delete(ctx, object, options...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteAllOfOption) error {
			return m.remove(object, func() error { return c.DeleteAllOf(ctx, object, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, configuration runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			defer m.forgetAll()
			return c.Apply(ctx, configuration, options...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, name string, object, sub client.Object, options ...client.SubResourceCreateOption) error {
			return m.remove(object, func() error { return c.SubResource(name).Create(ctx, object, sub, options...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return m.write(object, len(options), func() error { return c.SubResource(name).Update(ctx, object, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return m.write(object, len(options), func() error { return c.SubResource(name).Patch(ctx, object, patch, options...) })
		},
	}
}
