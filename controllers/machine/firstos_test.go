// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// The MachineDeployment refers to a template of os:v2, the Machine was made from one of os:v1, and the host came with another OS.
var _ = Describe("A machine whose host does not run its first OS yet", func() {
	var (
		w       *world
		set     *clusterv1.MachineSet
		machine *infrav1.ElementalMachine
		host    *infrav1.ElementalHost
		owner   *clusterv1.Machine
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		set = w.rolling(ctx)
		host = w.host(ctx, "h1")
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS.ImageURI, s.OS.Digest = "oci://os:v0", "sha256:0" })
		machine = w.machine(ctx, "m1", inPool)
		Eventually(get(ctx, machine)).Should(haveCondition(infrav1.HostReadyCondition, metav1.ConditionFalse, infrav1.HostWaitingForOSReason))
		owner = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}}
	})
	looked := func(ctx SpecContext) {
		GinkgoHelper()
		w.ownedBy(ctx, set, "m1")
		Expect(annotate(ctx, machine, "test.example.com/touched")).To(Succeed()) // it looks again by itself, after some time
	}

	It("gets the one that the owner of its Machine wants by now", func(ctx SpecContext) {
		looked(ctx)
		Eventually(get(ctx, machine)).Should(HaveField("Spec.OSVersionManagement", Equal(image("oci://os:v2"))))
		Eventually(get(ctx, host)).Should(HaveField("Spec.OSVersionManagement", Equal(image("oci://os:v2"))))
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS.ImageURI, s.OS.Digest = "oci://os:v2", "sha256:2" })
		Eventually(get(ctx, machine)).Should(haveCondition(infrav1.HostReadyCondition, metav1.ConditionFalse, infrav1.HostWaitingForBootstrapReason))
	})

	DescribeTable("keeps the one that it was made with",
		func(ctx SpecContext, change func(ctx SpecContext)) {
			change(ctx)
			looked(ctx)
			Eventually(settled(machine)).WithPolling(settling).Should(BeTrue())
			Consistently(get(ctx, machine)).Should(HaveField("Spec.OSVersionManagement", Equal(image("oci://os:v1"))))
		},
		Entry("once the host runs it, and is being bootstrapped", func(ctx SpecContext) {
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS.ImageURI, s.OS.Digest = "oci://os:v1", "sha256:1" })
		}),
		Entry("once the host is bootstrapped", func(ctx SpecContext) {
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
		}),
		Entry("while the host is not installed", func(ctx SpecContext) {
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Installed = false })
		}),
		Entry("once its Machine has a Node, which Cluster API updates", func(ctx SpecContext) {
			update(ctx, owner, func() { owner.Status.NodeRef.Name = host.Name }, true)
		}),
		Entry("while Cluster API updates its Machine", func(ctx SpecContext) {
			update(ctx, owner, func() { owner.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""} }, false)
		}),
		Entry("while its Machine is being deleted", func(ctx SpecContext) {
			update(ctx, owner, func() { owner.Finalizers = []string{"test.example.com/kept"} }, false)
			DeferCleanup(func(ctx SpecContext) { update(ctx, owner, func() { owner.Finalizers = nil }, false) })
			Expect(server.Client.Delete(ctx, owner)).To(Succeed())
		}),
	)
})
