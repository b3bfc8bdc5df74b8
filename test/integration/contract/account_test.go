// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// The whole suite uses this account. That it was not denied anything is asserted when the lab stops.
var _ = Describe("The account of config/workload, in place of an administrator's kubeconfig", func() {
	It("is sufficient to drain and upgrade a node", func(ctx SpecContext) {
		machine, _, host := worker(ctx)
		boots := len(theLab.Host(host.Name).Boots())
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"},
			Spec: corev1.PodSpec{
				NodeName: machine.Status.NodeRef.Name, Containers: []corev1.Container{{Name: "web", Image: "registry.example.com/web:1"}},
			},
		}
		Expect(theLab.WorkloadKube.Create(ctx, pod)).To(Succeed())
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())

		now, _, _ := worker(ctx)
		Expect(now.UID).To(Equal(machine.UID))
		Expect(theLab.Host(host.Name).Boots()).To(HaveLen(boots + 1))
		Expect(audit.Evictions(suite.Audit(theLab.Workload))).To(ContainElement(And(
			HaveField("Pod", "default/web"), HaveField("User", theLab.WorkloadUser()))))
	})
})
