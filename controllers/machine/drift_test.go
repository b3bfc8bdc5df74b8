// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machine"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// attempt makes an ElementalHostUpgrade of the machine m1 to an OS. What it declares is the hash of what the machine asks for.
func (w *world) attempt(ctx SpecContext, host string, phase infrav1.UpgradePhase, os infrav1.OSVersionManagement) {
	GinkgoHelper()
	upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "u1"}}
	upgrade.Spec = infrav1.ElementalHostUpgradeSpec{
		ClusterName: "c1", MachineName: "m1", ElementalMachineName: "m1", HostName: host,
		ImageURI: "oci://os:v1", OSVersionManagement: os,
	}
	Expect(server.Client.Create(ctx, upgrade)).To(Succeed())
	apiserver.ChangeStatus(ctx, server.Client, upgrade, func() { upgrade.Status.Phase = phase })
}

// eventsOf are the reasons of the events about an object, each once.
func eventsOf(ctx SpecContext, namespace, name string) func() ([]string, error) {
	return func() ([]string, error) {
		list := &eventsv1.EventList{}
		err := server.Client.List(ctx, list, client.InNamespace(namespace))
		reasons := []string{}
		for i := range list.Items {
			if list.Items[i].Regarding.Name == name {
				reasons = append(reasons, list.Items[i].Reason)
			}
		}
		return reasons, err
	}
}

// drifted is what the gauge counts.
func drifted(ctx context.Context) func() (int, error) {
	return func() (int, error) {
		counts, err := machine.Gauges()[0].Count(ctx, server.Client)
		return counts[""], err
	}
}

var _ = Describe("OSDrifted", func() {
	elsewhere := infrav1.HostOS{ImageURI: "oci://os:v0", Digest: "sha256:0", BootMode: "passive"}
	wanted := osversion.OfImage("oci://os:v1")

	// Serial, because the gauge counts the machines of all namespaces.
	It("is True from a late fallback until the host is right again", Serial, func(ctx SpecContext) {
		w := newWorld(ctx)
		m, host := w.running(ctx, "m1")
		w.attempt(ctx, host.Name, infrav1.UpgradeSucceeded, wanted)
		before, err := drifted(ctx)()
		Expect(err).NotTo(HaveOccurred())
		Eventually(server.Stored(ctx, m)).Should(apiserver.HaveCondition(infrav1.OSDriftedCondition, metav1.ConditionFalse, infrav1.NotDriftedReason))

		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS = elsewhere })
		Eventually(server.Stored(ctx, m)).Should(apiserver.HaveCondition(infrav1.OSDriftedCondition, metav1.ConditionTrue, infrav1.HostFellBackReason))
		Expect(m).To(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason), "it serves all the same")
		Expect(m.Status.Conditions).To(ContainElement(SatisfyAll(HaveField("Type", infrav1.OSDriftedCondition),
			HaveField("Message", SatisfyAll(ContainSubstring("oci://os:v0 (sha256:0)"), ContainSubstring("not oci://os:v1"))))))
		Eventually(eventsOf(ctx, w.ns, "m1")).Should(ContainElement(infrav1.EventOSDrifted))
		Eventually(drifted(ctx)).Should(Equal(before + 1))

		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
			s.OS = infrav1.HostOS{ImageURI: "oci://os:v1", BootMode: "active"}
		})
		Eventually(server.Stored(ctx, m)).Should(apiserver.HaveCondition(infrav1.OSDriftedCondition, metav1.ConditionFalse, infrav1.NotDriftedReason))
		Eventually(eventsOf(ctx, w.ns, "m1")).Should(ContainElement(infrav1.EventOSDriftEnded))
		Eventually(drifted(ctx)).Should(Equal(before))
	})

	DescribeTable("tells a drift from an upgrade",
		func(ctx SpecContext, change func(SpecContext, *world, *infrav1.ElementalMachine, string), booted infrav1.HostOS, status metav1.ConditionStatus, reason string) {
			w := newWorld(ctx)
			m, host := w.running(ctx, "m1")
			change(ctx, w, m, host.Name)
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS = booted })
			Eventually(server.Stored(ctx, m)).Should(apiserver.HaveCondition(infrav1.OSDriftedCondition, status, reason))
		},
		Entry("nothing was ever tried", func(SpecContext, *world, *infrav1.ElementalMachine, string) {},
			infrav1.HostOS{ImageURI: "oci://os:v0", BootMode: "active"}, metav1.ConditionTrue, infrav1.HostRunsOtherOSReason),
		Entry("Cluster API has begun an update, and there is no attempt yet", func(ctx SpecContext, _ *world, m *infrav1.ElementalMachine, _ string) {
			apiserver.Change(ctx, server.Client, m, func() { m.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""} })
		}, elsewhere, metav1.ConditionFalse, infrav1.UpgradeInProgressReason),
		Entry("an attempt is in progress", func(ctx SpecContext, w *world, _ *infrav1.ElementalMachine, host string) {
			w.attempt(ctx, host, infrav1.UpgradeProgressing, wanted)
		}, elsewhere, metav1.ConditionFalse, infrav1.UpgradeInProgressReason),
		Entry("an attempt is in progress, and the host runs its OS already", func(ctx SpecContext, w *world, _ *infrav1.ElementalMachine, host string) {
			w.attempt(ctx, host, infrav1.UpgradeProgressing, wanted)
		}, infrav1.HostOS{ImageURI: "oci://os:v1", BootMode: "active"}, metav1.ConditionFalse, infrav1.UpgradeInProgressReason),
		Entry("the host is lost in one", func(ctx SpecContext, w *world, _ *infrav1.ElementalMachine, host string) {
			w.attempt(ctx, host, infrav1.UpgradeHostLost, wanted)
		}, elsewhere, metav1.ConditionFalse, infrav1.UpgradeInProgressReason),
		Entry("the last attempt rolled back", func(ctx SpecContext, w *world, _ *infrav1.ElementalMachine, host string) {
			w.attempt(ctx, host, infrav1.UpgradeRolledBack, wanted)
		}, elsewhere, metav1.ConditionFalse, infrav1.AttemptNotSucceededReason),
		Entry("the last attempt was for another OS", func(ctx SpecContext, w *world, _ *infrav1.ElementalMachine, host string) {
			w.attempt(ctx, host, infrav1.UpgradeRolledBack, osversion.OfImage("oci://os:v2"))
		}, elsewhere, metav1.ConditionTrue, infrav1.HostFellBackReason),
		Entry("the host says nothing", func(SpecContext, *world, *infrav1.ElementalMachine, string) {},
			infrav1.HostOS{}, metav1.ConditionUnknown, infrav1.HostOSUnknownReason),
		Entry("the machine asks for nothing", func(ctx SpecContext, _ *world, m *infrav1.ElementalMachine, _ string) {
			apiserver.Change(ctx, server.Client, m, func() { m.Spec.OSVersionManagement = infrav1.OSVersionManagement{} })
		}, elsewhere, metav1.ConditionFalse, infrav1.NotDriftedReason),
	)
})
