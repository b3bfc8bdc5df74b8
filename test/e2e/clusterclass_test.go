// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
)

var _ = Describe("A cluster of a ClusterClass", Ordered, Label("clusterclass"), func() {
	var (
		made   *cluster
		before map[string]identity
	)

	BeforeAll(func(ctx SpecContext) {
		made = newCluster(ctx, shape{spec: "class", flavor: "kubeadm-clusterclass", controlPlane: 3, workers: 1})
		before = made.identities(ctx)
		Expect(before).To(HaveLen(4))
	})

	It("has all of its nodes upgraded in place by a variable", Label("in-place"), func(ctx SpecContext) {
		wanted := config.MustGetVariable(imageUpgrade)
		value, err := json.Marshal(wanted)
		Expect(err).NotTo(HaveOccurred())
		object := &clusterv1.Cluster{}
		Eventually(func(g Gomega) {
			g.Expect(management.GetClient().Get(ctx, client.ObjectKey{Namespace: made.namespace.Name, Name: made.name}, object)).To(Succeed())
			base := object.DeepCopy()
			for i := range object.Spec.Topology.Variables {
				if object.Spec.Topology.Variables[i].Name == inplace.OSImageVariable {
					object.Spec.Topology.Variables[i].Value.Raw = value
				}
			}
			g.Expect(management.GetClient().Patch(ctx, object, client.MergeFrom(base))).To(Succeed())
		}, made.intervals("wait-cluster")...).WithContext(ctx).Should(Succeed())

		made.awaitImage(ctx, ofControlPlane, wanted)
		made.awaitImage(ctx, ofWorkers, wanted)
		Expect(made.identities(ctx)).To(Equal(before), "every Machine and Node is the same")
	})
})
