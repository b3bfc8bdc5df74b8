// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"reflect"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewNamespace creates a namespace with labels, and returns its name, which no other has.
func (s *Server) NewNamespace(ctx context.Context, labels ...map[string]string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-", Labels: map[string]string{}}}
	for _, each := range labels {
		for key, value := range each {
			namespace.Labels[key] = value
		}
	}
	Expect(s.Client.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// Create creates objects, in their order. Those that are of no namespace, or of "default", are deleted when the calling node is
// cleaned up: other specs would see them.
func (s *Server) Create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(s.Client.Create(ctx, object)).To(Succeed())
		if object.GetNamespace() == "" || object.GetNamespace() == metav1.NamespaceDefault {
			DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(s.Client.Delete(ctx, object))).To(Succeed()) })
		}
	}
}

// Stored reads an object again; for Eventually.
func (s *Server) Stored(ctx context.Context, object client.Object) func() (client.Object, error) {
	return func() (client.Object, error) { return object, read(ctx, s.Client, object) }
}

// Get reads an object again, which has to exist.
func Get[T client.Object](ctx context.Context, c client.Reader, object T) T {
	GinkgoHelper()
	Expect(read(ctx, c, object)).To(Succeed())
	return object
}

// read makes an object what is stored. A client only adds to the object that it reads into: a field that was removed would seem to be there.
func read(ctx context.Context, c client.Reader, object client.Object) error {
	variable := reflect.ValueOf(object).Elem()
	stored := reflect.New(variable.Type())
	if from, ok := object.(*unstructured.Unstructured); ok {
		stored.Interface().(*unstructured.Unstructured).SetGroupVersionKind(from.GroupVersionKind())
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), stored.Interface().(client.Object)); err != nil {
		return err
	}
	variable.Set(stored.Elem())
	return nil
}

// Change reads an object again, and writes what a function changes of it. If somebody else writes it meanwhile, it begins anew.
func Change[T client.Object, F func() | func(T)](ctx context.Context, c client.Client, object T, how F) {
	GinkgoHelper()
	change(ctx, c, object, how, func(patch client.Patch) error { return c.Patch(ctx, object, patch) })
}

// ChangeStatus is Change for the status.
func ChangeStatus[T client.Object, F func() | func(T)](ctx context.Context, c client.Client, object T, how F) {
	GinkgoHelper()
	change(ctx, c, object, how, func(patch client.Patch) error { return c.Status().Patch(ctx, object, patch) })
}

func change[T client.Object, F func() | func(T)](ctx context.Context, c client.Client, object T, how F, write func(client.Patch) error) {
	GinkgoHelper()
	Eventually(func() error {
		stored := Get(ctx, c, object).DeepCopyObject().(client.Object)
		switch how := any(how).(type) {
		case func():
			how()
		case func(T):
			how(object)
		}
		err := write(client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
		if err != nil && !apierrors.IsConflict(err) {
			return StopTrying("it is refused").Wrap(err)
		}
		return err
	}).WithContext(ctx).Should(Succeed())
}
