// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// makeHost makes a host that runs oci://os:v1, unless it is changed.
func makeHost(ctx SpecContext, changes ...func(*infrav1.ElementalHost)) *infrav1.ElementalHost {
	GinkgoHelper()
	host := &infrav1.ElementalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: server.NewNamespace(ctx), Name: "h1", Labels: map[string]string{clusterv1.WatchLabel: watchFilter}},
		Spec:       infrav1.ElementalHostSpec{Approved: true, PubKey: "key", OSVersionManagement: osversion.OfImage("oci://os:v1")},
		Status: infrav1.ElementalHostStatus{
			Phase: infrav1.HostPhaseRunning, Installed: true, OS: infrav1.HostOS{ImageURI: "oci://os:v1"},
			Agent: infrav1.HostAgent{Version: "v0.8.0"},
		},
	}
	for _, change := range changes {
		change(host)
	}
	status := host.Status
	Expect(server.Client.Create(ctx, host)).To(Succeed())
	apiserver.ChangeStatus(ctx, server.Client, host, func() { status.Conditions = host.Status.Conditions; host.Status = status })
	return host
}

var (
	manual = "manual-" + osversion.Hash(osversion.OfImage("oci://os:v2")) + "-1"
	idle   = "idle-" + osversion.Hash(osversion.OfImage("oci://os:v2"))
)

const toTryAgain = `. To try it again, set label elementalhost.infrastructure.cluster.x-k8s.io/in-place-upgrade to "pending"; or ask for another image`

// managed asks for the attempt a1, and triggers it.
func managed(host *infrav1.ElementalHost) {
	host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a1", OSVersionManagement: osversion.OfImage("oci://os:v2")}
	host.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
}

// byHand asks for another OS, and triggers it without an attempt.
func byHand(host *infrav1.ElementalHost) {
	host.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
	host.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
}

// makeAttempt makes the attempt a1 on a host, which has ended and was withdrawn.
func makeAttempt(ctx SpecContext, host *infrav1.ElementalHost, end infrav1.UpgradePhase, steps ...infrav1.UpgradeStepStatus) {
	GinkgoHelper()
	attempt := &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: "a1"},
		Spec: infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c1", MachineName: "m1", ElementalMachineName: "em1", HostName: host.Name,
			TemplateName: "t1", ImageURI: "oci://os:v2", OSVersionManagement: osversion.OfImage("oci://os:v2"),
		},
	}
	Expect(server.Client.Create(ctx, attempt)).To(Succeed())
	apiserver.ChangeStatus(ctx, server.Client, attempt, func() { attempt.Status.Phase, attempt.Status.Steps = end, steps })
}

func reported(attempt string, phase infrav1.HostUpgradePhase) func(*infrav1.ElementalHost) {
	return func(host *infrav1.ElementalHost) {
		host.Status.Upgrade = &infrav1.HostUpgradeStatus{Attempt: attempt, Phase: phase, Digest: "sha256:2"}
	}
}

var _ = DescribeTable("The outcome of a run by hand is recorded,",
	func(ctx SpecContext, ask func(*infrav1.ElementalHost), attempt string, phase infrav1.HostUpgradePhase, label, annotation string) {
		host := makeHost(ctx, ask, reported(attempt, phase))
		matches := SatisfyAll(
			HaveField("Labels", HaveKeyWithValue(infrav1.InPlaceUpgradeLabel, label)),
			HaveField("Annotations", HaveKeyWithValue(infrav1.LastAttemptAnnotation, annotation)),
		)
		if annotation == "" {
			matches = SatisfyAll(
				HaveField("Labels", HaveKeyWithValue(infrav1.InPlaceUpgradeLabel, label)),
				HaveField("Annotations", Not(HaveKey(infrav1.LastAttemptAnnotation))),
			)
			Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason))
			Consistently(server.Stored(ctx, host)).Should(matches)
			return
		}
		Eventually(server.Stored(ctx, host)).Should(matches)
	},
	Entry("if it succeeded", byHand, manual, infrav1.HostUpgradeSucceeded, "done", manual+"=done@sha256:2"),
	Entry("if it failed", byHand, manual, infrav1.HostUpgradeFailed, "failed", manual+"=failed@sha256:2"),
	Entry("if it rolled back", byHand, manual, infrav1.HostUpgradeRolledBack, "rolled-back", manual+"=rolled-back@sha256:2"),
	Entry("but not before it has ended", byHand, manual, infrav1.HostUpgradeAssessing, "pending", ""),
	Entry("but not of one for another OS", byHand, "manual-0123456789-1", infrav1.HostUpgradeSucceeded, "pending", ""),
	Entry("but not while an attempt is active", managed, manual, infrav1.HostUpgradeSucceeded, "pending", ""),
	Entry("but not without a trigger", func(h *infrav1.ElementalHost) { byHand(h); h.Labels[infrav1.InPlaceUpgradeLabel] = "failed" },
		manual, infrav1.HostUpgradeSucceeded, "failed", ""),
	Entry("and not of an attempt, which records it and takes the trigger back", managed, "a1", infrav1.HostUpgradeFailed, "pending", ""),
)

var _ = DescribeTable("The predecessor's trigger",
	func(ctx SpecContext, ask func(*infrav1.ElementalHost), moved bool) {
		host := makeHost(ctx, ask, func(h *infrav1.ElementalHost) { h.Labels[infrav1.InPlaceUpdateLabel] = "pending" })
		if moved {
			Eventually(server.Stored(ctx, host)).Should(HaveField("Labels", SatisfyAll(
				HaveKeyWithValue(infrav1.InPlaceUpgradeLabel, "pending"), Not(HaveKey(infrav1.InPlaceUpdateLabel)))))
			return
		}
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason))
		Consistently(server.Stored(ctx, host)).Should(HaveField("Labels", SatisfyAll(
			HaveKeyWithValue(infrav1.InPlaceUpdateLabel, "pending"), Not(HaveKey(infrav1.InPlaceUpgradeLabel)))))
	},
	Entry("is renamed", func(*infrav1.ElementalHost) {}, true),
	Entry("waits while an attempt is active", func(h *infrav1.ElementalHost) {
		h.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a1"}
	}, false),
)

var _ = DescribeTable("The message about a host's OS says what is waited for, or what to do",
	func(ctx SpecContext, change func(*infrav1.ElementalHost), message string) {
		host := makeHost(ctx, func(h *infrav1.ElementalHost) { h.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") }, change)
		Eventually(func() (string, error) {
			_, err := server.Stored(ctx, host)()
			return conditions.GetMessage(host, infrav1.OSVersionReadyCondition), err
		}).Should(HaveSuffix(message))
	},
	Entry("the registry is away", func(h *infrav1.ElementalHost) {
		reported(idle, infrav1.HostUpgradeFetching)(h)
		h.Status.Upgrade.Message = "registry r cannot be reached"
	}, "waiting for the agent to upgrade it: registry r cannot be reached"),
	Entry("the image was refused", func(h *infrav1.ElementalHost) {
		reported(idle, infrav1.HostUpgradeFailed)(h)
		h.Status.Upgrade.Message = "image x does not exist"
	}, `failed: image x does not exist`+toTryAgain),
	Entry("the host fell back", reported(idle, infrav1.HostUpgradeRolledBack), toTryAgain),
)

var _ = It("A host with an OS that version 0.7 has stored, and cannot be read, says so", func(ctx SpecContext) {
	host := &infrav1.ElementalHost{}
	server.WithFormerSchema(ctx, "ElementalHost", func() {
		host = makeHost(ctx, func(h *infrav1.ElementalHost) { h.Spec.OSVersionManagement = specs.OS(`{"imageUri":5}`) })
	})
	Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.InvalidOSVersionReason))
})

var _ = DescribeTable("A condition of a host",
	func(ctx SpecContext, change func(*infrav1.ElementalHost), conditionType string, status metav1.ConditionStatus, reason string) {
		host := makeHost(ctx, change)
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(conditionType, status, reason))
	},
	Entry("ready to be claimed", func(*infrav1.ElementalHost) {}, clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
	Entry("not approved", func(h *infrav1.ElementalHost) { h.Spec.Approved = false },
		infrav1.ApprovedCondition, metav1.ConditionFalse, infrav1.WaitingForApprovalReason),
	Entry("not registered", func(h *infrav1.ElementalHost) { h.Spec.PubKey = "" },
		infrav1.RegistrationReadyCondition, metav1.ConditionFalse, infrav1.RegistrationFailedReason),
	Entry("not installed", func(h *infrav1.ElementalHost) { h.Status.Installed = false },
		infrav1.InstallationReadyCondition, metav1.ConditionFalse, infrav1.WaitingForInstallationReason),
	Entry("an installation that fails", func(h *infrav1.ElementalHost) {
		h.Status.Installed, h.Status.Phase, h.Status.Message = false, infrav1.HostPhaseInstalling, "no disk"
	}, infrav1.InstallationReadyCondition, metav1.ConditionFalse, infrav1.InstallationFailedReason),
	Entry("a bootstrap that fails", func(h *infrav1.ElementalHost) {
		h.Status.Phase, h.Status.Message = infrav1.HostPhaseBootstrapping, "no network"
	}, infrav1.BootstrapReadyCondition, metav1.ConditionFalse, infrav1.BootstrapFailedReason),
	Entry("claimed, and not bootstrapped", func(h *infrav1.ElementalHost) { h.Spec.MachineRef = &infrav1.LocalReference{Name: "m1"} },
		clusterv1.ReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason),
	Entry("asked to reset itself", func(h *infrav1.ElementalHost) { h.Labels[infrav1.NeedsResetLabel] = "true" },
		infrav1.ResetReadyCondition, metav1.ConditionFalse, infrav1.WaitingForResetReason),
	Entry("bootstrapped, and nobody's", func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true },
		infrav1.ResetReadyCondition, metav1.ConditionFalse, infrav1.ServesNoMachineReason),
	Entry("a reset that fails", func(h *infrav1.ElementalHost) {
		h.Labels[infrav1.NeedsResetLabel] = "true"
		h.Status.Phase, h.Status.Message = infrav1.HostPhaseResetting, "no recovery"
	}, infrav1.ResetReadyCondition, metav1.ConditionFalse, infrav1.ResetFailedReason),
	Entry("runs its OS", func(*infrav1.ElementalHost) {}, infrav1.OSVersionReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
	Entry("no OS asked for", func(h *infrav1.ElementalHost) { h.Spec.OSVersionManagement = infrav1.OSVersionManagement{} },
		infrav1.OSVersionReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
	Entry("an OS not reported", func(h *infrav1.ElementalHost) { h.Status.OS = infrav1.HostOS{} },
		infrav1.OSVersionReadyCondition, metav1.ConditionUnknown, infrav1.WaitingForOSReconcileReason),
	Entry("another OS, idle", func(h *infrav1.ElementalHost) { h.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") },
		infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.WaitingForOSReconcileReason),
	Entry("another OS, idle, rolled back", func(h *infrav1.ElementalHost) {
		h.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
		reported("idle-"+osversion.Hash(osversion.OfImage("oci://os:v2")), infrav1.HostUpgradeRolledBack)(h)
	}, infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.RolledBackReason),
	Entry("another OS, bootstrapped, not triggered", func(h *infrav1.ElementalHost) {
		h.Spec.OSVersionManagement, h.Status.Bootstrapped = osversion.OfImage("oci://os:v2"), true
	}, infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.InPlaceUpdateNotPendingReason),
	Entry("an attempt that prepares", func(h *infrav1.ElementalHost) {
		h.Status.Bootstrapped = true
		h.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a1"}
		reported("a1", infrav1.HostUpgradeFetching)(h)
	}, infrav1.OSVersionReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
	Entry("an attempt that reboots", func(h *infrav1.ElementalHost) {
		managed(h)
		reported("a1", infrav1.HostUpgradeRebooting)(h)
	}, infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.WaitingForOSReconcileReason),
	Entry("an attempt that rolled back", func(h *infrav1.ElementalHost) {
		managed(h)
		h.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
		reported("a1", infrav1.HostUpgradeRolledBack)(h)
	}, infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.RolledBackReason),
	Entry("an attempt that failed", func(h *infrav1.ElementalHost) {
		managed(h)
		h.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
		reported("a1", infrav1.HostUpgradeFailed)(h)
	}, infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.OSVersionReconciliationFailedReason),
	Entry("a run by hand", func(h *infrav1.ElementalHost) {
		byHand(h)
		reported(manual, infrav1.HostUpgradeApplying)(h)
	}, infrav1.OSVersionReadyCondition, metav1.ConditionFalse, infrav1.UnmanagedReason),
	Entry("a run by hand that succeeded", func(h *infrav1.ElementalHost) {
		byHand(h)
		h.Status.OS.ImageURI = "oci://os:v2"
		reported(manual, infrav1.HostUpgradeSucceeded)(h)
	}, infrav1.OSVersionReadyCondition, metav1.ConditionTrue, infrav1.UnmanagedReason),
)

var _ = DescribeTable("A node whose last attempt was withdrawn says how that ended",
	func(ctx SpecContext, end infrav1.UpgradePhase, reason, message string) {
		host := makeHost(ctx, func(h *infrav1.ElementalHost) {
			h.Spec.OSVersionManagement, h.Status.Bootstrapped = osversion.OfImage("oci://os:v2"), true
		})
		Eventually(server.Stored(ctx, host)).Should(WithTransform(func(h *infrav1.ElementalHost) bool {
			return conditions.Has(h, infrav1.OSVersionReadyCondition)
		}, BeTrue()))
		makeAttempt(ctx, host, end, infrav1.UpgradeStepStatus{Name: attempts.StepReboot, StartTime: metav1.Now()})
		Eventually(server.Stored(ctx, host)).Should(And(
			apiserver.HaveCondition(infrav1.OSVersionReadyCondition, metav1.ConditionFalse, reason),
			WithTransform(func(h *infrav1.ElementalHost) string {
				return conditions.GetMessage(h, infrav1.OSVersionReadyCondition)
			}, HavePrefix(message))))
	},
	Entry("if it fell back: no word of a trigger that drains nothing", infrav1.UpgradeRolledBack,
		infrav1.RolledBackReason, "Attempt a1 was rolled back; the host runs oci://os:v1"),
	Entry("if it failed", infrav1.UpgradeFailed,
		infrav1.OSVersionReconciliationFailedReason, "Attempt a1 failed; the host runs oci://os:v1"),
)

var _ = Describe("An ElementalHost of a paused Cluster", func() {
	It("goes on when the Cluster has gone, and is paused by one that comes paused in its place", func(ctx SpecContext) {
		host := makeHost(ctx, func(h *infrav1.ElementalHost) { h.Labels[clusterv1.ClusterNameLabel] = "c1" })
		paused := func() *clusterv1.Cluster {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: "c1"}}
			cluster.Spec.Paused = ptr.To(true)
			cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: "c1"}
			return cluster
		}
		goesOn := apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason)
		stops := apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
		rests := func() {
			Eventually(settled(host)).WithPolling(apiserver.Settling).MustPassRepeatedly(2).Should(BeTrue())
		}

		Eventually(server.Stored(ctx, host)).Should(goesOn)
		rests()
		cluster := paused()
		Expect(server.Client.Create(ctx, cluster)).To(Succeed())
		Eventually(server.Stored(ctx, host)).Should(stops)
		rests()
		Expect(server.Client.Delete(ctx, cluster)).To(Succeed())
		Eventually(server.Stored(ctx, host)).Should(goesOn)
	})
})

var _ = Describe("A host", func() {
	It("has its facts on labels, and keeps them while it is silent", func(ctx SpecContext) {
		host := makeHost(ctx)
		Eventually(server.Stored(ctx, host)).Should(HaveField("Labels", SatisfyAll(
			HaveKeyWithValue(infrav1.InstalledLabel, "true"), Not(HaveKey(infrav1.BootstrappedLabel)))))
		apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.Bootstrapped = true })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Labels", HaveKeyWithValue(infrav1.BootstrappedLabel, "true")))

		By("an agent that has lost its memory, or came in place of the predecessor's: a node is not bootstrapped again")
		apiserver.Change(ctx, server.Client, host, func() { host.Spec.BootstrapSecret = &infrav1.SecretReference{Name: "bootstrap"} })
		apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.Bootstrapped = false })
		Consistently(server.Stored(ctx, host)).Should(HaveField("Labels", HaveKeyWithValue(infrav1.BootstrappedLabel, "true")))
		Expect(hostapi.Desired(host).Bootstrap).To(BeFalse())

		By("a move, which carries no status")
		apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status = infrav1.ElementalHostStatus{} })
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(infrav1.InstallationReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Expect(host.Labels).To(SatisfyAll(
			HaveKeyWithValue(infrav1.InstalledLabel, "true"), HaveKeyWithValue(infrav1.BootstrappedLabel, "true")))
	})

	It("is left alone without the watch-filter label", func(ctx SpecContext) {
		host := makeHost(ctx, func(h *infrav1.ElementalHost) { h.Labels = map[string]string{"any": "other"} })
		Consistently(server.Stored(ctx, host)).Should(SatisfyAll(
			HaveField("Labels", Not(HaveKey(infrav1.InstalledLabel))), HaveField("Status.Conditions", BeEmpty())))
	})

	It("is left alone while its Cluster is paused", func(ctx SpecContext) {
		host := makeHost(ctx, func(h *infrav1.ElementalHost) { h.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason))
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: "c1"}}
		cluster.Spec.Paused = ptr.To(true)
		cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: "c1"}
		Expect(server.Client.Create(ctx, cluster)).To(Succeed())
		apiserver.Change(ctx, server.Client, host, func() {
			delete(host.Annotations, clusterv1.PausedAnnotation)
			host.Labels[clusterv1.ClusterNameLabel] = "c1"
			host.Labels[infrav1.InPlaceUpdateLabel] = "pending"
		})
		Consistently(server.Stored(ctx, host)).Should(SatisfyAll(
			apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason),
			HaveField("Labels", HaveKey(infrav1.InPlaceUpdateLabel))))
		apiserver.Change(ctx, server.Client, cluster, func() { cluster.Spec.Paused = nil })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Labels", HaveKeyWithValue(infrav1.InPlaceUpgradeLabel, "pending")))
	})

	It("costs nothing while it is idle", func(ctx SpecContext) {
		hosts := make([]*infrav1.ElementalHost, 0, 20)
		for range cap(hosts) {
			hosts = append(hosts, makeHost(ctx))
		}
		for _, host := range hosts {
			Eventually(server.Stored(ctx, host)).Should(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		}
		Eventually(settled(hosts...)).WithPolling(apiserver.Settling).Should(BeTrue())
		before := callsFor(hosts...)

		By("agents that connect again and have nothing new to say")
		for _, host := range hosts {
			apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.Agent.LastSeen = metav1.Now() })
		}
		Consistently(func() [2]int64 { return callsFor(hosts...) }).Should(Equal(before))
	})
})
