// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	count atomic.Int64
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

func newReconciler() (*machinetemplate.Reconciler, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(100)
	return &machinetemplate.Reconciler{
		Client:   cached{c},
		Live:     c,
		Owners:   &owner.Owners{Client: cached{c}, Live: c, Clock: clock.RealClock{}},
		Recorder: recorder,
	}, recorder
}

func newNamespace() string {
	name := fmt.Sprintf("template-%d", count.Add(1))
	Expect(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled},
	}})).To(Succeed())
	return name
}

// create creates objects, and removes those of no namespace when the spec ends.
func create(objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(c.Create(ctx, object)).To(Succeed())
		if object.GetNamespace() == "" || object.GetNamespace() == metav1.NamespaceDefault {
			DeferCleanup(func() { Expect(client.IgnoreNotFound(c.Delete(ctx, object))).To(Succeed()) })
		}
	}
}

func get[T client.Object](object T) T {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

func requestFor(object client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}
