// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancherdrain_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx   = context.Background()
	plane *apiserver.Server
	c     client.Client
	count atomic.Int64
)

func TestRancherDrain(t *testing.T) {
	specs.Run(t, "Rancher drain")
}

var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite()
	c = apiserver.NewIndexed(plane.Client, clusterview.AddIndexes)
})

func newNamespace() string {
	GinkgoHelper()
	name := fmt.Sprintf("drain-%d", count.Add(1))
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name
}

func create(objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(c.Create(ctx, object)).To(Succeed())
	}
}

func get[T client.Object](object T) T {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

// change an object as it is stored now.
func change[T client.Object](object T, how func(T)) {
	GinkgoHelper()
	base, _ := get(object).DeepCopyObject().(client.Object)
	how(object)
	Expect(c.Patch(ctx, object, client.MergeFrom(base))).To(Succeed())
}

// changeStatus of an object as it is stored now.
func changeStatus[T client.Object](object T, how func(T)) {
	GinkgoHelper()
	base, _ := get(object).DeepCopyObject().(client.Object)
	how(object)
	Expect(c.Status().Patch(ctx, object, client.MergeFrom(base))).To(Succeed())
}

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }

func requestFor(object client.Object) ctrl.Request {
	return ctrl.Request{NamespacedName: keyOf(object)}
}
