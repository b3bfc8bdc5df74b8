// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"bytes"
	"context"
	"errors"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
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

// interceptor asks before each call whether it fails, and names it by its verb and its object, as "patch MachineDeployment md".
type interceptor struct {
	client.Client
	fails func(call string) error
}

func intercepted(inner client.Client, fails func(call string) error) client.Client {
	return interceptor{inner, fails}
}

func (i interceptor) ask(verb string, object runtime.Object, name string) error {
	kind, err := i.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	return i.fails(strings.TrimSpace(verb + " " + strings.TrimSuffix(kind.Kind, "List") + " " + name))
}

func (i interceptor) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := i.ask("get", object, key.Name); err != nil {
		return err
	}
	return i.Client.Get(ctx, key, object, options...)
}

func (i interceptor) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	selected := (&client.ListOptions{}).ApplyOptions(options).LabelSelector
	of := ""
	if selected != nil {
		if name, found := selected.RequiresExactMatch(clusterv1.MachineDeploymentNameLabel); found {
			of = "of " + name
		}
	}
	if err := i.ask("list", list, of); err != nil {
		return err
	}
	return i.Client.List(ctx, list, options...)
}

func (i interceptor) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := i.ask("create", object, ""); err != nil {
		return err
	}
	return i.Client.Create(ctx, object, options...)
}

func (i interceptor) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if err := i.ask("delete", object, object.GetName()); err != nil {
		return err
	}
	return i.Client.Delete(ctx, object, options...)
}

func (i interceptor) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := i.ask("patch", object, object.GetName()); err != nil {
		return err
	}
	return i.Client.Patch(ctx, object, patch, options...)
}

func (i interceptor) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	if err := i.fails("apply"); err != nil {
		return err
	}
	return i.Client.Apply(ctx, object, options...)
}

func (i interceptor) Status() client.SubResourceWriter {
	return statusInterceptor{i.Client.Status(), i}
}

type statusInterceptor struct {
	client.SubResourceWriter
	asks interceptor
}

func (s statusInterceptor) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := s.asks.ask("patch the status of", object, object.GetName()); err != nil {
		return err
	}
	return s.SubResourceWriter.Patch(ctx, object, patch, options...)
}

// unheard is a cache that has not heard of what names templates.
type unheard struct{ client.Client }

func (u unheard) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	switch list.(type) {
	case *clusterv1.MachineSetList, *infrav1.ElementalMachineList:
		return nil
	}
	return u.Client.List(ctx, list, options...)
}

// answers counts the objects that an API server answers lists with.
type answers struct {
	client.Reader
	objects int
}

func (a *answers) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := a.Reader.List(ctx, list, options...)
	a.objects += apimeta.LenList(list)
	return err
}
