// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hoststate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

type change = func(*infrav1.ElementalHost)

// host is free, and runs os:v1.
func host(changes ...change) *infrav1.ElementalHost {
	host := &infrav1.ElementalHost{
		ObjectMeta: metav1.ObjectMeta{Name: "h1", Labels: map[string]string{}},
		Spec:       infrav1.ElementalHostSpec{Approved: true},
		Status: infrav1.ElementalHostStatus{
			Phase: infrav1.HostPhaseRunning, Installed: true, OS: infrav1.HostOS{ImageURI: "oci://os:v1", Digest: "sha256:1"},
			Agent: infrav1.HostAgent{Version: "v0.8.0"},
		},
	}
	for _, change := range changes {
		change(host)
	}
	return host
}

func attempt(id string, phase infrav1.HostUpgradePhase) change {
	return func(h *infrav1.ElementalHost) {
		h.Status.Upgrade = &infrav1.HostUpgradeStatus{Attempt: id, Phase: phase, Digest: "sha256:2"}
	}
}

func asked(id, uri string) change {
	return func(h *infrav1.ElementalHost) {
		h.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: id, OSVersionManagement: osversion.OfImage(uri)}
	}
}

func silent(h *infrav1.ElementalHost) { h.Status = infrav1.ElementalHostStatus{} }

// former is a host as version 0.7 left it: a phase, and everything else on labels.
func former(h *infrav1.ElementalHost) {
	h.Status = infrav1.ElementalHostStatus{Phase: infrav1.HostPhaseRunning}
}

func outdated(h *infrav1.ElementalHost) { h.Status.Agent.Outdated = true }

func label(name string) change {
	return func(h *infrav1.ElementalHost) { h.Labels[name] = "true" }
}

var _ = DescribeTable("OwesReset",
	func(entrusted, owes bool, changes ...change) {
		Expect(hoststate.Entrusted(host(changes...))).To(Equal(entrusted))
		Expect(hoststate.OwesReset(host(changes...))).To(Equal(owes))
	},
	Entry("not a host that serves nothing", false, false),
	Entry("one that serves a machine", true, true, func(h *infrav1.ElementalHost) { h.Spec.MachineRef = &infrav1.LocalReference{Name: "m1"} }),
	Entry("one that has served an ElementalMachine", true, true, label(infrav1.ElementalMachineNameLabel)),
	Entry("one that has served a Machine", true, true, label(infrav1.MachineNameLabel)),
	Entry("one that is asked to reset itself", true, true, label(infrav1.NeedsResetLabel)),
	Entry("one that is approved and says that it is a node", false, true, func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true }),
	Entry("not one that says so and is not approved", false, false, label(infrav1.BootstrappedLabel),
		func(h *infrav1.ElementalHost) { h.Spec.Approved, h.Status.Bootstrapped = false, true }),
)

var _ = DescribeTable("Free",
	func(expected bool, changes ...change) { Expect(hoststate.Free(host(changes...))).To(Equal(expected)) },
	Entry("approved, installed, nobody's", true),
	Entry("not approved", false, func(h *infrav1.ElementalHost) { h.Spec.Approved = false }),
	Entry("not installed", false, func(h *infrav1.ElementalHost) { h.Status.Installed = false }),
	Entry("bootstrapped", false, func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true }),
	Entry("bootstrapped, although its agent does not know any more", false, label(infrav1.BootstrappedLabel)),
	Entry("somebody's", false, func(h *infrav1.ElementalHost) { h.Spec.MachineRef = &infrav1.LocalReference{Name: "m1"} }),
	Entry("to be reset", false, label(infrav1.NeedsResetLabel)),
	Entry("reset", false, label(infrav1.ResetLabel)),
	Entry("under deletion", false, func(h *infrav1.ElementalHost) {
		now := metav1.Now()
		h.DeletionTimestamp = &now
	}),
	Entry("moved, and not heard of since", true, silent, label(infrav1.InstalledLabel)),
	Entry("moved with its machine's bootstrap done", false, silent, label(infrav1.InstalledLabel), label(infrav1.BootstrappedLabel)),
	Entry("of version 0.7, installed", true, former, label(infrav1.InstalledLabel)),
	Entry("of version 0.7, not installed", false, former),
	Entry("with an agent of version 0.7, installed", true, former, outdated, label(infrav1.InstalledLabel)),
	Entry("a label that the agent does not bear out", false, label(infrav1.InstalledLabel),
		func(h *infrav1.ElementalHost) { h.Status.Installed = false }),
)

var _ = DescribeTable("Reported",
	func(expected bool, changes ...change) {
		Expect(hoststate.Reported(host(changes...))).To(Equal(expected))
	},
	Entry("a report", true),
	Entry("one of an agent that does not know its version", true, func(h *infrav1.ElementalHost) {
		h.Status.Agent = infrav1.HostAgent{LastSeen: metav1.Now()}
	}),
	Entry("none since a move", false, silent),
	Entry("none since the upgrade from version 0.7, which kept the phase", false, former),
	Entry("the request of an outdated agent, which is refused", false, outdated),
)

var _ = DescribeTable("Triggered",
	func(expected bool, changes ...change) {
		Expect(hoststate.Triggered(host(changes...))).To(Equal(expected))
	},
	Entry("by an attempt, for this boot", true, asked("a1", "os:v2"), triggeredFor("b-1", "sha256:1")),
	Entry("not by an attempt for an earlier boot", false, asked("a1", "os:v2"), triggeredFor("b-0", "sha256:1")),
	Entry("not by an attempt for another image", false, asked("a1", "os:v2"), triggeredFor("b-1", "")),
	Entry("not by an attempt that is only asked for", false, asked("a1", "os:v2")),
	Entry("not by an attempt for no boot", false, asked("a1", "os:v2"), triggeredFor("", ""), func(h *infrav1.ElementalHost) { h.Spec.Upgrade.TriggeredFor = nil }),
	Entry("not by a user, who names no boot", false, func(h *infrav1.ElementalHost) { h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending }),
)

// triggeredFor is a trigger for a boot, on a host that is in the boot b-1 of sha256:1.
func triggeredFor(boot, digest string) change {
	return func(h *infrav1.ElementalHost) {
		h.Status.OS.BootID = "b-1"
		h.Spec.Upgrade.TriggeredFor = &infrav1.HostBoot{BootID: boot, Digest: digest}
		h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
	}
}

var _ = DescribeTable("Interruptible",
	func(phase infrav1.HostUpgradePhase, expected bool) {
		Expect(hoststate.Interruptible(host(attempt("a1", phase)))).To(Equal(expected))
	},
	Entry(nil, infrav1.HostUpgradeAcknowledged, true),
	Entry(nil, infrav1.HostUpgradeFetching, true),
	Entry(nil, infrav1.HostUpgradeFetched, true),
	Entry(nil, infrav1.HostUpgradeApplying, false),
	Entry(nil, infrav1.HostUpgradeRebooting, false),
	Entry(nil, infrav1.HostUpgradeAssessing, false),
	Entry(nil, infrav1.HostUpgradeSucceeded, true),
	Entry(nil, infrav1.HostUpgradeFailed, true),
	Entry(nil, infrav1.HostUpgradeRolledBack, true),
)

var _ = DescribeTable("Runs",
	func(wanted infrav1.OSVersionManagement, expected hoststate.Match, changes ...change) {
		Expect(hoststate.Runs(host(changes...), wanted)).To(Equal(expected))
	},
	Entry("the same image", osversion.OfImage("oci://os:v1"), hoststate.MatchSame),
	Entry("the same image, spelled otherwise", osversion.OfImage("os:v1"), hoststate.MatchSame),
	Entry("another image", osversion.OfImage("os:v2"), hoststate.MatchOther),
	Entry("the same by digest", osversion.OfImage("mirror/os@sha256:1"), hoststate.MatchSame),
	Entry("no image asked for", nil, hoststate.MatchUnknown),
	Entry("something that is no OS", specs.OS(`1`), hoststate.MatchUnknown),
	Entry("a host that has not said", osversion.OfImage("os:v1"), hoststate.MatchUnknown, silent),
	Entry("an image whose digest an attempt resolved", osversion.OfImage("os:v2"), hoststate.MatchSame,
		asked("a1", "os:v2"), attempt("a1", infrav1.HostUpgradeSucceeded), func(h *infrav1.ElementalHost) { h.Status.OS = infrav1.HostOS{Digest: "sha256:2"} }),
	Entry("an image whose attempt rolled back", osversion.OfImage("os:v2"), hoststate.MatchOther,
		asked("a1", "os:v2"), attempt("a1", infrav1.HostUpgradeRolledBack), func(h *infrav1.ElementalHost) { h.Status.OS = infrav1.HostOS{Digest: "sha256:2"} }),
	Entry("an image of another attempt", osversion.OfImage("os:v2"), hoststate.MatchOther,
		asked("a2", "os:v2"), attempt("a1", infrav1.HostUpgradeSucceeded), func(h *infrav1.ElementalHost) { h.Status.OS = infrav1.HostOS{Digest: "sha256:2"} }),
)

var _ = Describe("The current attempt", func() {
	wants := func(uri string) change {
		return func(h *infrav1.ElementalHost) { h.Spec.OSVersionManagement = osversion.OfImage(uri) }
	}
	pending := func(h *infrav1.ElementalHost) { h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending }
	bootstrapped := func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true }

	It("has the id that the Elemental API gives it", func() {
		for _, triggered := range []*infrav1.ElementalHost{
			host(wants("os:v2"), bootstrapped, pending),
			host(wants("os:v2"), bootstrapped, pending, asked("a1", "os:v3")),
		} {
			Expect(hoststate.CurrentAttempt(triggered)).To(Equal(hostapi.Desired(triggered).Upgrade.Attempt))
		}
		idle := host(wants("os:v2"))
		id := hostapi.Desired(idle).Upgrade.Attempt
		Expect(hoststate.OSStatus(host(wants("os:v2"), attempt(id, infrav1.HostUpgradeFailed)))).NotTo(BeNil())
		Expect(hoststate.Unmanaged(id)).To(BeFalse())
		Expect(hoststate.Unmanaged(hostapi.Desired(host(wants("os:v2"), bootstrapped, pending)).Upgrade.Attempt)).To(BeTrue())
	})

	It("is not one for another OS", func() {
		manual := "manual-" + osversion.Hash(osversion.OfImage("os:v2")) + "-1"
		Expect(hoststate.CurrentStatus(host(wants("os:v2"), attempt(manual, infrav1.HostUpgradeSucceeded)))).NotTo(BeNil())
		Expect(hoststate.CurrentStatus(host(wants("os:v3"), attempt(manual, infrav1.HostUpgradeSucceeded)))).To(BeNil())
		Expect(hoststate.CurrentStatus(host(wants("os:v2"), asked("a1", "os:v2"), attempt(manual, infrav1.HostUpgradeSucceeded)))).To(BeNil())
	})

	DescribeTable("is active",
		func(expected bool, changes ...change) {
			Expect(hoststate.ManagedAttemptActive(host(changes...))).To(Equal(expected))
		},
		Entry("not when nothing is asked for", false, attempt("a1", infrav1.HostUpgradeApplying)),
		Entry("before the host has heard of it", true, asked("a1", "os:v2")),
		Entry("while the host is at it", true, asked("a1", "os:v2"), attempt("a1", infrav1.HostUpgradeAssessing)),
		Entry("not when it has ended", false, asked("a1", "os:v2"), attempt("a1", infrav1.HostUpgradeFailed)),
		Entry("when another has ended", true, asked("a2", "os:v2"), attempt("a1", infrav1.HostUpgradeFailed)),
	)
})
