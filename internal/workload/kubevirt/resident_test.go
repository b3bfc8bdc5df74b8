// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var _ = Describe("KubeVirt as a resident", func() {
	served := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kubevirt.SchedulableLabel: "true"}}}

	It("that was not there is looked for again soon only for a Node that virt-handler has been on", func(ctx SpecContext) {
		mapper := meta.NewDefaultRESTMapper(nil)
		cluster := workload.New(live, mapped{live, mapper}).With(kubevirt.Resident{})
		Expect(cluster.On(ctx, served)).To(BeEmpty())
		mapper.Add(kubevirtv1.VirtualMachineInstanceGroupVersionKind, meta.RESTScopeNamespace)
		Expect(cluster.On(ctx, &corev1.Node{})).To(BeEmpty())
		Expect(cluster.On(ctx, nil)).To(BeEmpty())
		Expect(cluster.On(ctx, served)).To(HaveLen(1))
		Expect(cluster.On(ctx, &corev1.Node{})).To(HaveLen(1), "it is known by now")
	})

	It("is certain to be there where its API answers, for a Node that virt-handler has been on", func(ctx SpecContext) {
		cluster := workload.New(live, live).With(kubevirt.Resident{})
		Expect(cluster.CertainlyOn(ctx, served)).To(HaveLen(1))
		Expect(cluster.CertainlyOn(ctx, &corev1.Node{})).To(BeEmpty())
	})
})
