// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
)

var _ = Describe("A machine that names a ManagedOSVersion", func() {
	named := func(name string) infrav1.OSVersionManagement {
		return infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ManagedOSVersionName: name}}
	}
	runs := func(image string) OmegaMatcher {
		return WithTransform(func(m *infrav1.ElementalMachine) (string, error) {
			version, err := osversion.Decode(m.Spec.OSVersionManagement)
			return version.ImageURI, err
		}, Equal(image))
	}

	It("claims no host before it has an image, and runs that", func(ctx SpecContext) {
		w := newWorld(ctx)
		host := w.host(ctx, "h1")
		machine := w.machine(ctx, "m1", func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = named("v2") })
		Eventually(server.Stored(ctx, machine)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.ManagedOSVersionNotFoundReason),
			apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.ManagedOSVersionNotFoundReason)))
		Expect(machine.Spec.HostRef).To(BeNil())

		Expect(server.Client.Create(ctx, elementaloperator.ManagedOSVersion(w.ns, "v2", "container", "oci://os:v2"))).To(Succeed())
		apiserver.Change(ctx, server.Client, machine, func() { machine.Annotations = map[string]string{"touch": "it"} })
		Eventually(server.Stored(ctx, machine)).Should(And(runs("oci://os:v2"), HaveField("Spec.HostRef", Not(BeNil()))))
		Expect(server.Stored(ctx, host)()).To(WithTransform(func(h *infrav1.ElementalHost) (infrav1.OSVersion, error) {
			return osversion.Decode(h.Spec.OSVersionManagement)
		}, HaveField("ImageURI", "oci://os:v2")))
	})

	It("runs what its template was pinned to, whatever the version is by now", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.host(ctx, "h1")
		Expect(server.Client.Create(ctx, elementaloperator.ManagedOSVersion(w.ns, "v2", "container", "oci://os:v2-changed"))).To(Succeed())
		template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "t1"}}
		template.Spec.Template.Spec.OSVersionManagement = named("v2")
		Expect(server.Client.Create(ctx, template)).To(Succeed())
		machine := w.machine(ctx, "m1", madeFrom("t1"), func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = named("v2") })
		Eventually(server.Stored(ctx, machine)).Should(
			apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.WaitingForOSVersionReason))
		apiserver.Change(ctx, server.Client, template, func() {
			template.Annotations = map[string]string{
				infrav1.ResolvedOSVersionAnnotation: `{"managedOSVersionName":"v2","imageUri":"oci://os:v2","resourceVersion":"1"}`,
			}
		})
		Eventually(server.Stored(ctx, machine)).Should(And(runs("oci://os:v2"), HaveField("Spec.HostRef", Not(BeNil()))))
		Expect(machine.Annotations).To(And(HaveKeyWithValue(infrav1.NotedTemplateAnnotation, "t1"),
			HaveKeyWithValue(infrav1.NotedOSAnnotation, osversion.Stored(osversion.Hash(machine.Spec.OSVersionManagement)))), "a later change of the template is rolled out to it")
	})

	It("keeps its host on its OS while another version cannot be found", func(ctx SpecContext) {
		w := newWorld(ctx)
		machine, host := w.running(ctx, "m1")
		Expect(machine).To(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		apiserver.Change(ctx, server.Client, machine, func() { machine.Spec.OSVersionManagement = named("v9") })
		Eventually(server.Stored(ctx, machine)).Should(
			apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.ManagedOSVersionNotFoundReason))
		Expect(machine).To(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement", osversion.OfImage("oci://os:v1")))

		Expect(server.Client.Create(ctx, elementaloperator.ManagedOSVersion(w.ns, "v9", "container", "oci://os:v9"))).To(Succeed())
		apiserver.Change(ctx, server.Client, machine, func() { machine.Annotations = map[string]string{"touch": "it"} })
		Eventually(server.Stored(ctx, host)).Should(WithTransform(func(h *infrav1.ElementalHost) (infrav1.OSVersion, error) {
			return osversion.Decode(h.Spec.OSVersionManagement)
		}, HaveField("ImageURI", "oci://os:v9")))
	})
})
