// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

var _ = It("Quarantining finds the ElementalClusters of a namespace that have a digest in quarantine, among others", func(ctx SpecContext) {
	namespace := server.NewNamespace(ctx)
	for name, digests := range map[string][]string{"a": {"sha256:1", "sha256:2"}, "b": {"sha256:2"}, "c": {}} {
		cluster := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		for _, digest := range digests {
			cluster.Spec.Quarantine = append(cluster.Spec.Quarantine, infrav1.QuarantinedImage{Digest: digest})
		}
		Expect(live.Create(ctx, cluster)).To(Succeed())
	}
	found := func(in, digest string) func() ([]string, error) {
		return func() ([]string, error) {
			clusters, err := clusterview.Quarantining(ctx, cached, in, digest)
			names := []string{}
			for i := range clusters {
				names = append(names, clusters[i].Name)
			}
			return names, err
		}
	}
	Eventually(found(namespace, "sha256:2")).Should(ConsistOf("a", "b"))
	Eventually(found(namespace, "sha256:1")).Should(ConsistOf("a"))
	Expect(found(namespace, "sha256:3")()).To(BeEmpty())
	Expect(found("elsewhere", "sha256:2")()).To(BeEmpty())
})
