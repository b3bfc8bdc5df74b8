// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// osCase is what UpToDate is judged by: OS images, by what asks for or runs them.
type osCase struct {
	template infrav1.OSVersionManagement
	machine  infrav1.OSVersionManagement
	booted   infrav1.HostOS
	// upgrade is the phase of an ElementalHostUpgrade, if there is one.
	upgrade *infrav1.UpgradePhase
	// attempt the host reports.
	attempt *infrav1.HostUpgradeStatus

	status metav1.ConditionStatus
	reason string
}

func phase(of infrav1.UpgradePhase) *infrav1.UpgradePhase { return &of }

func debug(uri string) infrav1.OSVersionManagement {
	return infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: uri, Debug: ptr.To(true)}}
}

var _ = Describe("UpToDate", func() {
	DescribeTable("compares contents",
		func(ctx SpecContext, c osCase) {
			w := newWorld(ctx)
			template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "t1"}}
			template.Spec.Template.Spec.OSVersionManagement = c.template
			Expect(server.Client.Create(ctx, template)).To(Succeed())
			machine, host := w.running(ctx, "m1", func(m *infrav1.ElementalMachine) {
				m.Spec.OSVersionManagement = c.machine
				madeFrom("t1")(m)
			})
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS, s.Upgrade = c.booted, c.attempt })
			if c.attempt != nil {
				apiserver.Change(ctx, server.Client, host, func() {
					host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: c.attempt.Attempt, OSVersionManagement: c.machine}
				})
			}
			if c.upgrade != nil {
				upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "u1"}}
				upgrade.Spec = infrav1.ElementalHostUpgradeSpec{
					ClusterName: "c1", MachineName: "m1", ElementalMachineName: "m1", HostName: host.Name,
					ImageURI: "oci://os:v2", OSVersionManagement: osversion.OfImage("oci://os:v2"),
				}
				Expect(server.Client.Create(ctx, upgrade)).To(Succeed())
				apiserver.ChangeStatus(ctx, server.Client, upgrade, func() { upgrade.Status.Phase = *c.upgrade })
			}
			Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, c.status, c.reason))
			Expect(server.Stored(ctx, machine)()).To(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		},
		Entry("all the same", osCase{
			template: osversion.OfImage("oci://os:v1"), machine: osversion.OfImage("oci://os:v1"), booted: infrav1.HostOS{ImageURI: "oci:os:v1"},
			status: metav1.ConditionTrue, reason: clusterv1.ReadyReason,
		}),
		Entry("debug makes no difference", osCase{
			template: debug("oci://os:v1"), machine: osversion.OfImage("oci://os:v1"), booted: infrav1.HostOS{ImageURI: "oci://os:v1"},
			status: metav1.ConditionTrue, reason: clusterv1.ReadyReason,
		}),
		Entry("the host runs another", osCase{
			template: osversion.OfImage("oci://os:v2"), machine: osversion.OfImage("oci://os:v2"), booted: infrav1.HostOS{ImageURI: "oci://os:v1"},
			status: metav1.ConditionFalse, reason: infrav1.HostRunsOtherOSReason,
		}),
		Entry("the same by digest", osCase{
			template: osversion.OfImage("os@sha256:2"), machine: osversion.OfImage("os@sha256:2"), booted: infrav1.HostOS{ImageURI: "oci:127.0.0.1/x", Digest: "sha256:2"},
			status: metav1.ConditionTrue, reason: clusterv1.ReadyReason,
		}),
		Entry("the same by the attempt that succeeded", osCase{
			template: osversion.OfImage("os:v2"), machine: osversion.OfImage("os:v2"), booted: infrav1.HostOS{Digest: "sha256:2"},
			attempt: &infrav1.HostUpgradeStatus{Attempt: "a1", Phase: infrav1.HostUpgradeSucceeded, Digest: "sha256:2"},
			status:  metav1.ConditionTrue, reason: clusterv1.ReadyReason,
		}),
		Entry("a late fallback after the attempt that succeeded", osCase{
			template: osversion.OfImage("os:v2"), machine: osversion.OfImage("os:v2"), booted: infrav1.HostOS{Digest: "sha256:1"},
			attempt: &infrav1.HostUpgradeStatus{Attempt: "a1", Phase: infrav1.HostUpgradeSucceeded, Digest: "sha256:2"},
			status:  metav1.ConditionFalse, reason: infrav1.HostRunsOtherOSReason,
		}),
		Entry("the host has not said what it runs", osCase{
			template: osversion.OfImage("oci://os:v1"), machine: osversion.OfImage("oci://os:v1"),
			status: metav1.ConditionUnknown, reason: infrav1.HostOSUnknownReason,
		}),
		Entry("nothing is asked for", osCase{
			booted: infrav1.HostOS{ImageURI: "oci://os:v1"},
			status: metav1.ConditionTrue, reason: infrav1.OSNotManagedReason,
		}),
		Entry("an upgrade is in progress", osCase{
			template: osversion.OfImage("oci://os:v2"), machine: osversion.OfImage("oci://os:v2"), booted: infrav1.HostOS{ImageURI: "oci://os:v1"},
			upgrade: phase(infrav1.UpgradeProgressing),
			status:  metav1.ConditionFalse, reason: infrav1.UpgradeInProgressReason,
		}),
		Entry("an upgrade has ended", osCase{
			template: osversion.OfImage("oci://os:v2"), machine: osversion.OfImage("oci://os:v2"), booted: infrav1.HostOS{ImageURI: "oci://os:v1"},
			upgrade: phase(infrav1.UpgradeRolledBack),
			status:  metav1.ConditionFalse, reason: infrav1.HostRunsOtherOSReason,
		}),
	)

	It("says which field of an OS version cannot be read, and what to do; no host gets it", func(ctx SpecContext) {
		unreadable := specs.OS(`{"imageUri":"oci://os:v2","debug":"yes"}`)
		message := func(conditionType string) OmegaMatcher {
			return WithTransform(func(m *infrav1.ElementalMachine) string { return conditions.GetMessage(m, conditionType) },
				HavePrefix("ElementalMachine m1: spec.osVersionManagement.osVersion.debug is of JSON type string, and has to be a bool: correct it"))
		}
		w := newWorld(ctx)
		machine, host := w.running(ctx, "m1")
		Expect(machine).To(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		server.WithFormerSchema(ctx, "ElementalMachine", func() {
			apiserver.Change(ctx, server.Client, machine, func() { machine.Spec.OSVersionManagement = unreadable })
		})
		Eventually(server.Stored(ctx, machine)).Should(And(
			apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.InvalidOSVersionReason), message(infrav1.OSUpToDateCondition)))
		Expect(machine).To(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement", osversion.OfImage("oci://os:v1")))

		By("a machine that has no host yet")
		w = newWorld(ctx)
		w.host(ctx, "h1")
		server.WithFormerSchema(ctx, "ElementalMachine", func() {
			machine = w.machine(ctx, "m1", madeFrom("t1"), func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = unreadable })
		})
		Eventually(server.Stored(ctx, machine)).Should(And(
			apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.InvalidOSVersionReason), message(infrav1.AssociationReadyCondition),
			message(infrav1.OSUpToDateCondition)))
		Expect(conditions.GetMessage(machine, infrav1.OSUpToDateCondition)).To(HaveSuffix("correct it here and in ElementalMachineTemplate t1"))
		Expect(machine.Spec.HostRef).To(BeNil())
	})

	It("says the same of an upgrade from where Cluster API begins with it until its attempt has ended", func(ctx SpecContext) {
		w := newWorld(ctx)
		machine, host := w.running(ctx, "m1")
		says := func(reason string) OmegaMatcher {
			return And(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, reason),
				WithTransform(func(m *infrav1.ElementalMachine) string { return conditions.GetMessage(m, infrav1.OSUpToDateCondition) },
					ContainSubstring("ElementalHost "+host.Name)))
		}
		apiserver.Change(ctx, server.Client, machine, func() {
			machine.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
			machine.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
		})
		Eventually(server.Stored(ctx, machine)).Should(says(infrav1.UpgradeInProgressReason))
		told := conditions.GetMessage(machine, infrav1.OSUpToDateCondition)

		w.attempt(ctx, host.Name, infrav1.UpgradeProgressing, osversion.OfImage("oci://os:v2"))
		Consistently(func() (string, error) {
			_, err := server.Stored(ctx, machine)()
			return conditions.GetMessage(machine, infrav1.OSUpToDateCondition), err
		}).Should(Equal(told))

		By("an attempt that has ended, although Cluster API goes on asking for the update")
		upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "u1"}}
		apiserver.ChangeStatus(ctx, server.Client, upgrade, func() { upgrade.Status.Phase = infrav1.UpgradeRolledBack })
		Eventually(server.Stored(ctx, machine)).Should(says(infrav1.HostRunsOtherOSReason))
	})

	It("follows a template that is patched", func(ctx SpecContext) {
		w := newWorld(ctx)
		template := w.template(ctx, "t1", "oci://os:v1")
		machine, _ := w.running(ctx, "m1", madeFrom("t1"))
		Expect(machine).To(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		apiserver.Change(ctx, server.Client, template, func() { template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.TemplateDiffersReason))
	})
})
