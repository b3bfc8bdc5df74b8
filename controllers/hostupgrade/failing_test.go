// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("A workload cluster that fails at the Drain is said to, and why, and the Drain is tried again", func(ctx SpecContext, failure error, why string) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	w.drive(ctx, w.isAt(ctx, "Prefetch"))
	answers := w.connector.client
	w.connector.client = interceptor.NewClient(live, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, isPods := list.(*corev1.PodList); isPods {
				return failure
			}
			return c.List(ctx, list, options...)
		},
	})
	w.drive(ctx, w.isAt(ctx, "Drain"))
	Expect(w.status(ctx).Message).To(Equal("cannot reach workload cluster " + clusterName + ": " + why))

	w.connector.client = answers
	w.drive(ctx, nil)
	Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
},
	Entry("by an error of its own", apierrors.NewInternalError(errors.New("etcd is slow")),
		"its API server answers 500: Internal error occurred: etcd is slow"),
	Entry("by not answering", context.DeadlineExceeded, "its API server does not answer in time"),
)

var _ = It("A management cluster that fails at a step is not taken for the workload cluster", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	w.drive(ctx, w.isAt(ctx, "Prefetch"))
	Expect(w.faults.disturbed).To(BeFalse())
	w.faults.failAt = w.faults.count + 1 // its slot
	w.drive(ctx, func() bool { return w.faults.disturbed })
	Expect(w.faults.disturbed).To(BeTrue())
	Expect(w.status(ctx).Message).NotTo(ContainSubstring("workload cluster"))
})
