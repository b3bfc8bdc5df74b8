// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// AddNode adds a Node of no Machine to the workload cluster, on which no Pod is scheduled and no kubelet runs. Without it a single
// worker would be the only Node of its cluster, which is neither cordoned nor drained.
func AddNode(ctx context.Context, cluster *scenario.Cluster) {
	GinkgoHelper()
	Expect(cluster.WorkloadKube().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "external"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "external", Effect: corev1.TaintEffectNoSchedule}}},
	})).To(Succeed())
}
