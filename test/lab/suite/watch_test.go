// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("What is watched", func() {
	const namespace = metav1.NamespaceDefault

	var (
		kube    client.WithWatch
		watches chan watch.Interface
		seen    chan string
	)
	add := func(ctx context.Context, name string) {
		GinkgoHelper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"watched": ""}}}
		Expect(kube.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Delete(ctx, object)).To(Succeed()) })
	}
	see := func(event watch.Event) bool {
		if event.Type == watch.Added {
			seen <- event.Object.(*corev1.ConfigMap).Name
		}
		return false
	}
	watched := []client.ListOption{client.InNamespace(namespace), client.HasLabels{"watched"}}

	BeforeEach(func(ctx SpecContext) {
		watches, seen = make(chan watch.Interface, 10), make(chan string, 10)
		kube = interceptor.NewClient(server.Client, interceptor.Funcs{
			Watch: func(ctx context.Context, next client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
				began, err := next.Watch(ctx, list, options...)
				watches <- began
				return began, err
			},
		})
		add(ctx, "before")
	})

	It("resumes where it ended when its watch is closed", func(ctx SpecContext) {
		suite.Changes(ctx, kube, &corev1.ConfigMapList{}, see, watched...)
		add(ctx, "first")
		Eventually(seen).Should(Receive(Equal("first")), "nothing of what was there before")
		var first watch.Interface
		Expect(watches).To(Receive(&first))
		first.Stop()
		add(ctx, "second")
		Eventually(seen).Should(Receive(Equal("second")), "and nothing twice")
		Expect(watches).To(Receive(), "by another watch")
	})

	It("begins with the existing objects if all are to be followed", func(ctx SpecContext) {
		suite.Follow(ctx, kube, &corev1.ConfigMapList{}, see, watched...)
		Expect(seen).To(Receive(Equal("before")))
		add(ctx, "next")
		Eventually(seen).Should(Receive(Equal("next")))
	})
})
