// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package existing_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// asked answers each Get with the number of Gets so far, as a label; of an absent object with an error.
type asked struct {
	client.Reader
	gets int
}

func (a *asked) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	a.gets++
	if key.Name == "absent" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	into.SetName(key.Name)
	into.SetLabels(map[string]string{"kind": into.GetObjectKind().GroupVersionKind().Kind})
	return nil
}

var _ = Describe("Once", func() {
	var (
		from   *asked
		reader client.Reader
	)
	BeforeEach(func() {
		from = &asked{}
		reader = existing.Once(from)
	})
	get := func(ctx context.Context, name string, into client.Object) client.Object {
		GinkgoHelper()
		Expect(reader.Get(ctx, client.ObjectKey{Name: name}, into)).To(Succeed())
		return into
	}

	It("gets each object once, and hands out copies", func(ctx SpecContext) {
		first := get(ctx, "a", &corev1.Secret{})
		first.GetLabels()["changed"] = "by the first"
		Expect(get(ctx, "a", &corev1.Secret{}).GetLabels()).To(Equal(map[string]string{"kind": ""}))
		Expect(from.gets).To(Equal(1))
		get(ctx, "b", &corev1.Secret{})
		get(ctx, "a", &corev1.ConfigMap{})
		Expect(from.gets).To(Equal(3))
	})

	It("knows objects without a Go type by their kind", func(ctx SpecContext) {
		for _, kind := range []string{"A", "B", "A"} {
			object := &unstructured.Unstructured{}
			object.SetKind(kind)
			Expect(get(ctx, "a", object).GetLabels()).To(Equal(map[string]string{"kind": kind}))
		}
		Expect(from.gets).To(Equal(2))
	})

	It("asks again for what is absent", func(ctx SpecContext) {
		for range 2 {
			Expect(existing.Get(ctx, reader, &corev1.Secret{}, "", "absent")).To(BeNil())
		}
		Expect(from.gets).To(Equal(2))
	})
})
