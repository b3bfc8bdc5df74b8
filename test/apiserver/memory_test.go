// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/served"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

var _ = Describe("A Memory", func() {
	var (
		memory *apiserver.Memory
		node   *corev1.Node
		key    = client.ObjectKey{Name: "a"}
	)
	BeforeEach(func(ctx SpecContext) {
		var err error
		memory, err = server.NewMemory()
		Expect(err).NotTo(HaveOccurred())
		node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}
		Expect(memory.Client.Create(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(server.Client.DeleteAllOf(ctx, &corev1.Node{})).To(Succeed()) })
	})

	label := func(ctx context.Context, c client.Client, value string, options ...client.PatchOption) {
		GinkgoHelper()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"l":"`+value+`"}}}`))
		Expect(c.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}, patch, options...)).To(Succeed())
	}
	// labels are the values that the Memory returns, by each kind of read.
	labels := func(ctx context.Context) []string {
		GinkgoHelper()
		typed, list := &corev1.Node{}, &corev1.NodeList{}
		loose := &unstructured.Unstructured{}
		loose.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		Expect(memory.Client.Get(ctx, key, typed)).To(Succeed())
		Expect(memory.Client.Get(ctx, key, loose)).To(Succeed())
		Expect(memory.Client.List(ctx, list)).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		return []string{typed.Labels["l"], loose.GetLabels()["l"], list.Items[0].Labels["l"]}
	}

	It("serves what it wrote, and reads nothing twice that no other client writes", func(ctx SpecContext) {
		Expect(labels(ctx)).To(HaveEach(""))
		label(ctx, memory.Client, "1")
		Expect(labels(ctx)).To(HaveEach("1"))
		label(ctx, server.Client, "2")
		Expect(labels(ctx)).To(HaveEach("1"), "another's write")
		resume := memory.Suspend()
		Expect(labels(ctx)).To(HaveEach("2"))
		label(ctx, server.Client, "3")
		Expect(labels(ctx)).To(HaveEach("3"))
		resume()
		Expect(labels(ctx)).To(HaveEach("3"))
	})

	It("does not cache a write that was not stored", func(ctx SpecContext) {
		label(ctx, memory.Client, "1", client.DryRunAll)
		Expect(labels(ctx)).To(HaveEach(""))
		node.Labels, node.ResourceVersion = map[string]string{"l": "2"}, "1"
		Expect(apierrors.IsConflict(memory.Client.Update(ctx, node))).To(BeTrue(), "the API server decides")
		Expect(labels(ctx)).To(HaveEach(""))
	})

	It("returns copies", func(ctx SpecContext) {
		read := &corev1.Node{}
		Expect(memory.Client.Get(ctx, key, read)).To(Succeed())
		read.Labels = map[string]string{"l": "1"}
		Expect(labels(ctx)).To(HaveEach(""))
	})

	It("notices deletions, also with the last finalizer", func(ctx SpecContext) {
		read := &corev1.Node{}
		Expect(memory.Client.Get(ctx, key, read)).To(Succeed())
		read.Finalizers = []string{"test.cluster.x-k8s.io/held"}
		Expect(memory.Client.Update(ctx, read)).To(Succeed())
		Expect(memory.Client.Delete(ctx, read)).To(Succeed())
		Expect(memory.Client.Get(ctx, key, read)).To(Succeed())
		Expect(read.DeletionTimestamp).NotTo(BeNil())
		read.Finalizers = nil
		Expect(memory.Client.Update(ctx, read)).To(Succeed())
		Expect(apierrors.IsNotFound(memory.Client.Get(ctx, key, read))).To(BeTrue())
		list := &corev1.NodeList{}
		Expect(memory.Client.List(ctx, list)).To(Succeed())
		Expect(list.Items).To(BeEmpty())
	})

	It("keeps lists by different selectors apart", func(ctx SpecContext) {
		label(ctx, memory.Client, "1")
		count := func(options ...client.ListOption) int {
			list := &corev1.NodeList{}
			Expect(memory.Client.List(ctx, list, options...)).To(Succeed())
			return len(list.Items)
		}
		for range 2 {
			Expect(count()).To(Equal(1))
			Expect(count(client.MatchingLabels{"l": "2"})).To(BeZero())
			Expect(count(client.MatchingFields{"metadata.name": "b"})).To(BeZero())
			Expect(count(client.MatchingLabels{"l": "1"})).To(Equal(1))
		}
	})

	It("notices kinds that are installed and removed", func(ctx SpecContext) {
		has := func() bool {
			_, err := memory.Client.RESTMapper().RESTMapping(storage.Volume.GroupKind())
			Expect(err == nil || meta.IsNoMatchError(err)).To(BeTrue())
			return err == nil
		}
		Expect(has()).To(BeFalse())
		Expect(storage.Install(ctx, memory.Client, storage.Volume)).To(Succeed())
		Expect(has()).To(BeTrue())
		volumes := &unstructured.UnstructuredList{}
		volumes.SetGroupVersionKind(storage.Volume)
		Expect(memory.Client.List(ctx, volumes)).To(Succeed())
		Expect(served.Is(ctx, memory.Client, storage.Volume)).To(BeTrue())
		Expect(storage.Uninstall(ctx, memory.Client, storage.Volume)).To(Succeed())
		Expect(memory.Client.List(ctx, volumes)).NotTo(Succeed())
		Expect(served.Is(ctx, memory.Client, storage.Volume)).To(BeFalse())
	})
})
