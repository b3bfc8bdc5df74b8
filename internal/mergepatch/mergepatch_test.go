// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package mergepatch_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/mergepatch"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("Store", Ordered, func() {
	var (
		kube   client.WithWatch
		writes []string
		fails  error
		to     client.Client
	)
	BeforeAll(func() {
		server := apiserver.StartForSuite()
		kube = server.Client
		to = interceptor.NewClient(kube, interceptor.Funcs{
			Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
				if writes = append(writes, "object"); fails != nil {
					return fails
				}
				return inner.Patch(ctx, object, patch, options...)
			},
			SubResourcePatch: func(ctx context.Context, inner client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				writes = append(writes, sub)
				return inner.SubResource(sub).Patch(ctx, object, patch, options...)
			},
		})
	})
	var stored, changed *infrav1.ElementalHost
	BeforeEach(func(ctx SpecContext) {
		writes, fails = nil, nil
		stored = &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "h-", Finalizers: []string{"a.b/c"}}}
		Expect(kube.Create(ctx, stored)).To(Succeed())
		changed = stored.DeepCopy()
	})
	read := func(ctx SpecContext) *infrav1.ElementalHost {
		GinkgoHelper()
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
		return stored
	}
	report := func() {
		changed.Status.Message = "fetching"
		condition.False(changed, infrav1.OSVersionReadyCondition, "Fetching", "fetching")
	}

	It("writes nothing where nothing differs", func(ctx SpecContext) {
		Expect(mergepatch.Store(ctx, to, stored, changed)).To(Succeed())
		Expect(writes).To(BeEmpty())
	})

	It("writes all of the status at once, and leaves both objects as they are", func(ctx SpecContext) {
		report()
		before, after := stored.DeepCopy(), changed.DeepCopy()
		Expect(mergepatch.Store(ctx, to, stored, changed)).To(Succeed())
		Expect(writes).To(HaveExactElements("status"))
		Expect(stored).To(Equal(before))
		Expect(changed).To(Equal(after))
		Expect(read(ctx).Status.Message).To(Equal("fetching"))
		Expect(conditions.GetReason(stored, infrav1.OSVersionReadyCondition)).To(Equal("Fetching"))
	})

	It("writes metadata before the status, and the status even where that fails", func(ctx SpecContext) {
		report()
		changed.Annotations = map[string]string{"a.b/c": "d"}
		fails = errors.New("no")
		Expect(mergepatch.Store(ctx, to, stored, changed)).To(MatchError(fails))
		Expect(writes).To(HaveExactElements("object", "status"))
		Expect(read(ctx).Status.Message).To(Equal("fetching"))

		fails, changed = nil, stored.DeepCopy()
		changed.Annotations, changed.Status.Message = map[string]string{"a.b/c": "d"}, "fetched"
		Expect(mergepatch.Store(ctx, to, stored, changed)).To(Succeed())
		Expect(read(ctx).Annotations).To(HaveKeyWithValue("a.b/c", "d"))
		Expect(stored.Status.Message).To(Equal("fetched"))
	})

	It("finds nothing to write to where the last finalizer is removed", func(ctx SpecContext) {
		Expect(kube.Delete(ctx, stored)).To(Succeed())
		changed = read(ctx).DeepCopy()
		report()
		changed.Finalizers = nil
		err := mergepatch.Store(ctx, to, stored, changed)
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		Expect(client.IgnoreNotFound(err)).To(Succeed())
	})
})
