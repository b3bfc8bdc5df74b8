// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const (
	newDigest = "sha256:0123456789abcdef"
	oldDigest = "sha256:fedcba9876543210"
)

var (
	v2 = target{image: "oci://r/os:v2", digest: newDigest}
	v3 = target{image: "oci://r/os:v3"}
)

func on(name string, wanted target) node { return node{name: name, target: wanted, onTarget: true} }

func off(name string, wanted target, changes ...func(*infrav1.ElementalHostUpgrade)) node {
	n := node{name: name, target: wanted}
	if len(changes) > 0 {
		n.attempt = &infrav1.ElementalHostUpgrade{}
	}
	for _, change := range changes {
		change(n.attempt)
	}
	return n
}

func step(name string, index int32) func(*infrav1.ElementalHostUpgrade) {
	return func(u *infrav1.ElementalHostUpgrade) {
		u.Status.Phase, u.Status.Message = infrav1.UpgradeProgressing, "waits"
		u.Status.Step, u.Status.StepIndex, u.Status.StepCount = name, index, 14
	}
}

func ended(phase infrav1.UpgradePhase, message string) func(*infrav1.ElementalHostUpgrade) {
	return func(u *infrav1.ElementalHostUpgrade) { u.Status.Phase, u.Status.Message = phase, message }
}

func blocked(checks ...string) func(*infrav1.ElementalHostUpgrade) {
	return func(u *infrav1.ElementalHostUpgrade) {
		for _, check := range checks {
			u.Status.Holds = append(u.Status.Holds, infrav1.UpgradeHold{Reason: infrav1.HoldPreflightFailed, Check: check, Who: infrav1.HoldByUser})
		}
	}
}

func heldFor(reasons ...infrav1.HoldReason) func(*infrav1.ElementalHostUpgrade) {
	return func(u *infrav1.ElementalHostUpgrade) {
		for _, reason := range reasons {
			u.Status.Holds = append(u.Status.Holds, *infrav1.NewHold(reason, "", ""))
		}
	}
}

func stopped(u *infrav1.ElementalHostUpgrade) {
	conditions.Set(u, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason})
}

func in(pool string, n node) node {
	n.pool = pool
	return n
}

func many(count int) []node {
	nodes := make([]node, 0, count)
	for i := range count {
		nodes = append(nodes, off(fmt.Sprintf("n-%02d", i), v2, step("Drain", 7)))
	}
	return nodes
}

var _ = DescribeTable("The status line",
	func(nodes []node, status metav1.ConditionStatus, reason, message string) {
		line := statusLine(nodes)
		Expect(line.Message).To(Equal(message))
		Expect(line.Reason).To(Equal(reason))
		Expect(line.Status).To(Equal(status))
	},
	Entry("no nodes", nil, metav1.ConditionTrue, "NoNodes", "no nodes"),
	Entry("all is well", []node{on("n-1", v2), on("n-2", v2)}, metav1.ConditionTrue, "NodesUpToDate", "2 of 2 nodes on sha256:0123456789ab"),
	Entry("a rollout that has not begun", []node{on("n-1", v2), off("n-2", v2)}, metav1.ConditionFalse, "NodesWaiting", "1 of 2 nodes on sha256:0123456789ab"),
	Entry("an image whose digest nobody knows yet", []node{off("n-1", v3)}, metav1.ConditionFalse, "NodesWaiting", "0 of 1 nodes on oci://r/os:v3"),
	Entry("an upgrade", []node{on("n-1", v2), on("n-2", v2), off("n-3", v2, step("Drain", 7)), off("n-4", v2), off("n-5", v2)},
		metav1.ConditionFalse, "NodesUpgrading", "2 of 5 nodes on sha256:0123456789ab, n-3 draining (7/14)"),
	Entry("an upgrade that has not begun", []node{off("n-1", v2, func(*infrav1.ElementalHostUpgrade) {})},
		metav1.ConditionFalse, "NodesUpgrading", "0 of 1 nodes on sha256:0123456789ab, n-1 pending"),
	Entry("a node that runs it and is not through", []node{func() node {
		n := off("n-1", v2, step("Assess", 11))
		n.onTarget = true
		return n
	}()}, metav1.ConditionFalse, "NodesUpgrading", "1 of 1 nodes on sha256:0123456789ab, n-1 assessing (11/14)"),
	Entry("a step that was added since", []node{off("n-1", v2, step("Polish", 6))},
		metav1.ConditionFalse, "NodesUpgrading", "0 of 1 nodes on sha256:0123456789ab, n-1 Polish (6/14)"),
	Entry("a paused node", []node{off("n-1", v2, step("Approve", 3))},
		metav1.ConditionFalse, "NodesHeld", "0 of 1 nodes on sha256:0123456789ab, n-1 paused (3/14)"),
	Entry("a paused node, and those that wait for it", []node{
		in("workers", off("n-1", v2)), in("workers", off("n-2", v2, step("Approve", 3))), in("workers", off("n-3", v2)), in("others", off("n-4", v2)),
	}, metav1.ConditionFalse, "NodesHeld", "0 of 4 nodes on sha256:0123456789ab, n-2 paused (3/14), "+
		"n-1 n-3 waiting for n-2 (remove its annotation infrastructure.cluster.x-k8s.io/elemental-node-upgrade-pause)"),
	Entry("a paused node beside one that makes room by itself", []node{
		in("workers", off("n-1", v2)), in("workers", off("n-2", v2, step("Approve", 3))), in("workers", off("n-3", v2, step("Drain", 7))),
	}, metav1.ConditionFalse, "NodesHeld", "0 of 3 nodes on sha256:0123456789ab, n-2 paused (3/14), n-3 draining (7/14)"),
	Entry("a paused node, and one that has ended badly", []node{
		in("workers", off("n-1", v2, ended(infrav1.UpgradeAborted, ""))), in("workers", off("n-2", v2, step("Approve", 3))),
	}, metav1.ConditionFalse, "NodesHeld", "0 of 2 nodes on sha256:0123456789ab, n-1 aborted, n-2 paused (3/14)"),
	Entry("a node that a user has to let go on", []node{off("n-1", v2, step("Admit", 4), heldFor(infrav1.HoldNamespaceNotOptedIn, infrav1.HoldUpgradeCancelled, infrav1.HoldOwnerRollingOut))},
		metav1.ConditionFalse, "NodesHeld", "0 of 1 nodes on sha256:0123456789ab, n-1 held by NamespaceNotOptedIn and UpgradeCancelled (4/14)"),
	Entry("a node that others let go on", []node{off("n-1", v2, step("Admit", 4), heldFor(infrav1.HoldNoSlot, infrav1.HoldSoaking))},
		metav1.ConditionFalse, "NodesUpgrading", "0 of 1 nodes on sha256:0123456789ab, n-1 waiting for its turn (4/14)"),
	Entry("nothing of a check that holds it later only", []node{off("n-1", v2, step("Prefetch", 2), func(u *infrav1.ElementalHostUpgrade) {
		u.Status.Preflight = []infrav1.PreflightResult{{Check: "OtherNodes", Verdict: infrav1.PreflightBlock}}
	})}, metav1.ConditionFalse, "NodesUpgrading", "0 of 1 nodes on sha256:0123456789ab, n-1 fetching (2/14)"),
	Entry("those at work before those that wait for their turn, or for their stage", []node{
		off("n-1", v2, step("Admit", 4), heldFor(infrav1.HoldNotInTurn)), off("n-2", v2, step("Admit", 4), heldFor(infrav1.HoldNotInStage)), off("n-3", v2, step("Drain", 7)),
	}, metav1.ConditionFalse, "NodesUpgrading", "0 of 3 nodes on sha256:0123456789ab, n-3 draining (7/14), n-1 waiting for its turn (4/14), n-2 waiting for its turn (4/14)"),
	Entry("a node at a step that takes too long", []node{off("n-1", v2, step("Drain", 7), heldFor(infrav1.HoldStepOverdue))},
		metav1.ConditionFalse, "NodesHeld", "0 of 1 nodes on sha256:0123456789ab, n-1 draining, overdue (7/14)"),
	Entry("a node whose host is silent", []node{off("n-1", v2, step("Preflight", 1), heldFor(infrav1.HoldHostNotReporting))},
		metav1.ConditionFalse, "NodesUpgrading", "0 of 1 nodes on sha256:0123456789ab, n-1 waiting for its host (1/14)"),
	Entry("a paused attempt", []node{off("n-1", v2, step("Drain", 7), stopped)},
		metav1.ConditionFalse, "NodesHeld", "0 of 1 nodes on sha256:0123456789ab, n-1 paused while draining (7/14)"),
	Entry("a roll-back, and those that wait because of it", []node{
		off("n-1", v2, ended(infrav1.UpgradeRolledBack, "ElementalHost n-1 runs its former OS again: bad")),
		off("n-2", v2, step("Preflight", 1), blocked("Quarantine")),
		off("n-3", v2, step("Preflight", 1), blocked("Quarantine", "NodeReady")),
	}, metav1.ConditionFalse, "NodesHeld", "0 of 3 nodes on sha256:0123456789ab, "+
		"n-1 rolled back: ElementalHost n-1 runs its former OS again: bad, n-2 held by Quarantine (1/14), n-3 held by Quarantine and NodeReady (1/14)"),
	Entry("other ends", []node{
		off("n-1", v2, ended(infrav1.UpgradeFailed, "no space")), off("n-2", v2, ended(infrav1.UpgradeAborted, "")),
		off("n-3", v2, ended(infrav1.UpgradeHostLost, "look at it")), off("n-4", v2, ended(infrav1.UpgradeSuperseded, "")),
	}, metav1.ConditionFalse, "NodesHeld", "0 of 4 nodes on sha256:0123456789ab, n-1 failed: no space, n-2 aborted, n-3 lost: look at it"),
	Entry("an end that was put right by hand", []node{func() node {
		n := off("n-1", v2, ended(infrav1.UpgradeFailed, "no space"))
		n.onTarget = true
		return n
	}()}, metav1.ConditionTrue, "NodesUpToDate", "1 of 1 nodes on sha256:0123456789ab"),
	Entry("a drift", []node{on("n-1", v2), {name: "n-2", target: v2, drifted: true}},
		metav1.ConditionFalse, "NodesDrifted", "1 of 2 nodes on sha256:0123456789ab, n-2 drifted"),
	Entry("several templates", []node{on("n-1", v3), on("n-2", v2), off("n-3", v2), {name: "n-4"}},
		metav1.ConditionFalse, "NodesWaiting", "1 of 2 nodes on sha256:0123456789ab, 1 of 1 nodes on oci://r/os:v3"),
	Entry("one tag with two digests", []node{on("n-1", v2), on("n-2", target{image: v2.image, digest: oldDigest}), off("n-3", target{image: v2.image})},
		metav1.ConditionFalse, "NodesWaiting", "2 of 3 nodes on oci://r/os:v2"),
	Entry("an OS that is not managed", []node{{name: "n-1"}, {name: "n-2"}},
		metav1.ConditionTrue, "OSNotManaged", "2 nodes, whose OS is not managed"),
	Entry("more nodes than can be named", many(11), metav1.ConditionFalse, "NodesUpgrading",
		"0 of 11 nodes on sha256:0123456789ab, n-00 draining (7/14), n-01 draining (7/14), n-02 draining (7/14), n-03 draining (7/14), "+
			"n-04 draining (7/14), n-05 draining (7/14), n-06 draining (7/14), n-07 draining (7/14), and 3 more"),
)

var _ = Describe("The status line", func() {
	It("has a bounded length, and no broken characters", func() {
		line := statusLine([]node{off("n-1", v2, ended(infrav1.UpgradeFailed, strings.Repeat("ä", 400)))})
		Expect(len(line.Message)).To(BeNumerically("<", 250))
		Expect(line.Message).To(HaveSuffix("ä..."))
	})

	It("has a word for every phase of an attempt that is neither active nor through", func() {
		through := []infrav1.UpgradePhase{infrav1.UpgradeSucceeded, infrav1.UpgradeSuperseded}
		for _, phase := range []infrav1.UpgradePhase{
			infrav1.UpgradePending, infrav1.UpgradeProgressing, infrav1.UpgradeSucceeded, infrav1.UpgradeRolledBack,
			infrav1.UpgradeFailed, infrav1.UpgradeSuperseded, infrav1.UpgradeAborted, infrav1.UpgradeHostLost,
		} {
			attempt := &infrav1.ElementalHostUpgrade{}
			attempt.Status.Phase = phase
			Expect(attempt.Status.Phase.IsActive() || slices.Contains(through, phase) || endings[phase] != "").To(BeTrue(), string(phase))
		}
	})
})
