// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("A host is not triggered where, after the reconcile has read it,", func(ctx SpecContext, stop func(context.Context, *world), says string) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	stopped := false
	w.reconciler.APIReader = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			// The Cluster is read live by nothing but the look before the trigger.
			if _, isCluster := object.(*clusterv1.Cluster); isCluster && !stopped {
				stopped = true
				stop(ctx, w)
			}
			return inner.Get(ctx, key, object, options...)
		},
	})
	w.drive(ctx, nil)
	Expect(stopped).To(BeTrue())
	Expect(w.faults.triggers).To(BeEmpty())
	Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Labels).NotTo(HaveKey(infrav1.InPlaceUpgradeLabel))
	Expect(w.status(ctx).Message).To(ContainSubstring(says))
},
	Entry("its Cluster is paused", func(ctx context.Context, w *world) {
		cluster := get(ctx, w, clusterName, &clusterv1.Cluster{})
		cluster.Spec.Paused = new(true)
		Expect(live.Update(ctx, cluster)).To(Succeed())
	}, ""),
	Entry("its image is quarantined", func(ctx context.Context, w *world) {
		cluster := get(ctx, w, clusterName, &infrav1.ElementalCluster{})
		cluster.Annotations = map[string]string{infrav1.QuarantineAnnotation: fmt.Sprintf(`{%q:"another-host"}`, newDigest)}
		Expect(live.Update(ctx, cluster)).To(Succeed())
	}, "another-host"),
)
