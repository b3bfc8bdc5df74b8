// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// The MachineDeployment refers to template t2 of os:v2, the Machine was made from t1 of os:v1, and the host came with another OS.
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
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.HostReadyCondition, metav1.ConditionFalse, infrav1.HostWaitingForOSReason))
		owner = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}}
	})
	// is reports how far the host is with the OS that it was told to run.
	is := func(ctx SpecContext, phase infrav1.HostUpgradePhase, message string) {
		GinkgoHelper()
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement", Equal(osversion.OfImage("oci://os:v1"))))
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
			s.Upgrade = &infrav1.HostUpgradeStatus{Attempt: hoststate.IdleAttempt(host), Phase: phase, Message: message}
		})
	}
	fails := func(ctx SpecContext) {
		GinkgoHelper()
		is(ctx, infrav1.HostUpgradeRolledBack, "")
	}
	// isForgotten has the host fall back, which is recorded only, and sets the trigger.
	isForgotten := func(ctx SpecContext, trigger string) {
		GinkgoHelper()
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement", Equal(osversion.OfImage("oci://os:v1"))))
		apiserver.Change(ctx, server.Client, host, func() {
			hoststate.RecordOutcome(host, &infrav1.HostUpgradeStatus{Attempt: hoststate.IdleAttempt(host)}, infrav1.InPlaceUpgradeRolledBack)
			host.Labels[infrav1.InPlaceUpgradeLabel] = trigger
		})
	}
	looks := func(ctx SpecContext) {
		GinkgoHelper()
		w.ownedBy(ctx, set, "m1")
		Expect(annotate(ctx, machine, "test.example.com/touched")).To(Succeed()) // it looks again by itself, after some time
	}

	DescribeTable("gets the one that is wanted by now",
		func(ctx SpecContext, change func(ctx SpecContext), wanted string) {
			change(ctx)
			looks(ctx)
			Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.OSVersionManagement", Equal(osversion.OfImage(wanted))))
			Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement", Equal(osversion.OfImage(wanted))))
		},
		Entry("where the host fell back", fails, "oci://os:v2"),
		Entry("where the attempt failed", func(ctx SpecContext) { is(ctx, infrav1.HostUpgradeFailed, "no space") }, "oci://os:v2"),
		Entry("where the image cannot be fetched", func(ctx SpecContext) { is(ctx, infrav1.HostUpgradeFetching, "the registry is away") }, "oci://os:v2"),
		Entry("where the host fell back, and the agent has forgotten it", func(ctx SpecContext) { isForgotten(ctx, "") }, "oci://os:v2"),
		Entry("of the template that was patched since", func(ctx SpecContext) {
			template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "t2"}}
			apiserver.Change(ctx, server.Client, template, func() { template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci://os:v3") })
			fails(ctx)
		}, "oci://os:v3"),
	)

	DescribeTable("keeps the one that it was made with",
		func(ctx SpecContext, change func(ctx SpecContext)) {
			change(ctx)
			looks(ctx)
			Eventually(settled(machine)).WithPolling(apiserver.Settling).Should(BeTrue())
			Consistently(server.Stored(ctx, machine)).Should(HaveField("Spec.OSVersionManagement", Equal(osversion.OfImage("oci://os:v1"))))
		},
		Entry("while the host fetches it", func(ctx SpecContext) { is(ctx, infrav1.HostUpgradeFetching, "") }),
		Entry("while the host writes it", func(ctx SpecContext) { is(ctx, infrav1.HostUpgradeApplying, "") }),
		Entry("while the host assesses it", func(ctx SpecContext) { is(ctx, infrav1.HostUpgradeAssessing, "waiting for a unit") }),
		Entry("once the host runs it, and is being bootstrapped", func(ctx SpecContext) { is(ctx, infrav1.HostUpgradeSucceeded, "") }),
		Entry("while a person has it tried again", func(ctx SpecContext) { isForgotten(ctx, infrav1.InPlaceUpgradePending) }),
		Entry("while the host has failed with another one only", func(ctx SpecContext) {
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
				s.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "idle-other", Phase: infrav1.HostUpgradeRolledBack}
			})
		}),
		Entry("once the host is bootstrapped", func(ctx SpecContext) {
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
			fails(ctx)
		}),
		Entry("while the host is not installed", func(ctx SpecContext) {
			w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Installed = false })
			fails(ctx)
		}),
		Entry("once its Machine has a Node, which Cluster API updates", func(ctx SpecContext) {
			apiserver.ChangeStatus(ctx, server.Client, owner, func() { owner.Status.NodeRef.Name = host.Name })
			fails(ctx)
		}),
		Entry("while Cluster API updates its Machine", func(ctx SpecContext) {
			apiserver.Change(ctx, server.Client, owner, func() { owner.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""} })
			fails(ctx)
		}),
		Entry("while its Machine is being deleted", func(ctx SpecContext) {
			apiserver.Change(ctx, server.Client, owner, func() { owner.Finalizers = []string{"test.example.com/kept"} })
			DeferCleanup(func(ctx SpecContext) { apiserver.Change(ctx, server.Client, owner, func() { owner.Finalizers = nil }) })
			Expect(server.Client.Delete(ctx, owner)).To(Succeed())
			fails(ctx)
		}),
		Entry("as long as a ManagedOSVersion is not looked up", func(ctx SpecContext) {
			template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "t2"}}
			apiserver.Change(ctx, server.Client, template, func() {
				template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ManagedOSVersionName: "v2"}}
			})
			fails(ctx)
		}),
	)
})
