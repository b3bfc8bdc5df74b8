// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machinetemplate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx   = context.Background()
	plane *apiserver.Server
	c     client.Client
)

func TestMachineTemplate(t *testing.T) {
	specs.Run(t, "Machine template")
}

var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite()
	c = apiserver.NewIndexed(plane.Client, clusterview.AddIndexes)
	Expect(elementaloperator.Install(plane.Config)).To(Succeed())
})

// cached reads the API server itself, so that a call sees all that was written before it, but no more of an object
// than the manager's cache keeps.
type cached struct{ client.Client }

func (k cached) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := k.Client.Get(ctx, key, object, options...)
	object.SetManagedFields(nil)
	return err
}

func (k cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := k.Client.List(ctx, list, options...); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			object.SetManagedFields(nil)
		}
		return err
	})
}

// optIn is what makes a namespace one that our ExtensionConfig selects.
var optIn = map[string]string{infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled}

func newReconciler() (*machinetemplate.Reconciler, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(1000)
	return &machinetemplate.Reconciler{
		Client:   cached{c},
		Live:     c,
		Owners:   &owner.Owners{Client: cached{c}, Live: c, Clock: clock.RealClock{}},
		Recorder: recorder,
	}, recorder
}

func requestFor(object client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}
