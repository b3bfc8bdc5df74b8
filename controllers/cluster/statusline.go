// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
)

const (
	// maxNamed nodes are named in the line; it is to be read at a glance.
	maxNamed = 8
	// maxReason is how much of the message of an attempt is in the line, in bytes.
	maxReason = 160
	// shownDigits of a digest are enough to tell images apart.
	shownDigits = 12
)

// doing says what a node does at a step. Steps that are not in it speak for themselves.
var doing = map[string]string{
	"Preflight":     "checking",
	"Prefetch":      "fetching",
	"Approve":       "paused",
	"Admit":         "waiting for its turn",
	"Cordon":        "cordoning",
	"EvacuateVMs":   "evacuating virtual machines",
	"Drain":         "draining",
	"DetachVolumes": "detaching volumes",
	"Trigger":       "triggering",
	"Reboot":        "rebooting",
	"Assess":        "assessing",
	"Uncordon":      "uncordoning",
	"RestoreVMs":    "restoring virtual machines",
	"Settle":        "settling",
}

// waitsForPeople is a step that an attempt which goes well passes in one reconcile: one that is seen there waits for somebody.
const waitsForPeople = "Trigger"

// endings are the ends after which a node waits for somebody.
var endings = map[infrav1.UpgradePhase]string{
	infrav1.UpgradeRolledBack: "rolled back",
	infrav1.UpgradeFailed:     "failed",
	infrav1.UpgradeAborted:    "aborted",
	infrav1.UpgradeHostLost:   "lost",
}

// urgency of what is said of a node; the most urgent one is the reason of the condition.
type urgency int

const (
	calm urgency = iota
	waits
	upgrades
	drifts
	held
)

var reasons = map[urgency]string{
	calm:     infrav1.NodesUpToDateReason,
	waits:    infrav1.NodesWaitingReason,
	upgrades: infrav1.NodesUpgradingReason,
	drifts:   infrav1.NodesDriftedReason,
	held:     infrav1.NodesHeldReason,
}

// statusLine sums up the nodes of a cluster, like "2 of 5 nodes on sha256:0123456789ab, node-3 draining
// (7/14)". It depends on nothing but the nodes, and is the same as long as they are.
func statusLine(nodes []node) metav1.Condition {
	line := metav1.Condition{Type: infrav1.NodesUpToDateCondition, Status: metav1.ConditionFalse}
	counts, most := countTargets(nodes), calm
	said, later := []string{}, []string{} // those that wait for others do not hide what these are at
	for _, n := range nodes {
		what, urgent := n.news()
		switch {
		case what == "":
		case n.attempt != nil && isBehindOthers(n.attempt):
			later = append(later, n.name+" "+what)
		default:
			said = append(said, n.name+" "+what)
		}
		most = max(most, urgent)
	}
	said = append(said, later...)
	line.Reason = reasons[most]
	switch {
	case len(nodes) == 0:
		line.Reason, counts = infrav1.NoNodesReason, []string{"no nodes"}
	case len(counts) == 0:
		counts = []string{fmt.Sprintf("%d nodes, whose OS is not managed", len(nodes))}
		if most == calm {
			line.Reason = infrav1.OSNotManagedReason
		}
	}
	if most == calm {
		line.Status = metav1.ConditionTrue
	}
	line.Message = strings.Join(slices.Concat(counts, shortened(said), sayWhoWaits(nodes)), ", ")
	return line
}

// news says what there is to tell of a node besides what it runs, and how urgent that is.
func (n node) news() (what string, urgent urgency) {
	switch {
	case n.attempt != nil && n.attempt.PhaseNow().IsActive():
		return activity(n.attempt)
	case n.attempt != nil && !n.onTarget && endings[n.attempt.PhaseNow()] != "":
		return endings[n.attempt.PhaseNow()] + because(n.attempt.Status.Message), held
	case n.drifted:
		return "drifted", drifts
	case n.target.image == "" || n.onTarget:
		return "", calm
	default:
		return "", waits
	}
}

// activity says where an attempt stands.
func activity(attempt *infrav1.ElementalHostUpgrade) (what string, urgent urgency) {
	step := attempt.Status.Step
	if step == "" {
		return "pending", upgrades
	}
	what, urgent = cmp.Or(doing[step], step), upgrades
	switch blocked, by := heldByChecks(attempt), heldBy(attempt); {
	case blocked != "":
		what, urgent = "held by "+blocked, held
	case attempts.WaitsForApproval(attempt):
		urgent = held
	case by != "":
		what, urgent = "held by "+by, held
	case isHeldBy(attempt, infrav1.HoldStepOverdue):
		what, urgent = what+", overdue", held
	case step == waitsForPeople:
		urgent = held
	case isHeldBy(attempt, infrav1.HoldHostNotReporting):
		what = "waiting for its host"
	}
	if conditions.IsTrue(attempt, clusterv1.PausedCondition) {
		what, urgent = "paused while "+what, held
	}
	return fmt.Sprintf("%s (%d/%d)", what, attempt.Status.StepIndex, attempt.Status.StepCount), urgent
}

// isBehindOthers reports whether an attempt waits for other nodes, or for the order of its cluster's upgrade.
func isBehindOthers(attempt *infrav1.ElementalHostUpgrade) bool {
	first := attempts.FirstHold(attempt)
	if first == nil {
		return false
	}
	isByOrder := attempts.IsOrder(first.Reason) && first.Reason.Who() != infrav1.HoldByUser
	return attempts.IsTurn(first.Reason) || isByOrder || isHeldBy(attempt, infrav1.HoldRolloutStopped)
}

// heldBy names what a user has to end; empty where there is nothing. What others end needs no attention, and a pause is named by itself.
func heldBy(attempt *infrav1.ElementalHostUpgrade) string {
	named := []infrav1.HoldReason{
		infrav1.HoldNodePaused, infrav1.HoldClusterPaused, infrav1.HoldAttemptPaused, infrav1.HoldStepOverdue, infrav1.HoldRolloutStopped,
	}
	reasons := []string{}
	for _, hold := range attempt.Status.Holds {
		if hold.Who == infrav1.HoldByUser && !slices.Contains(named, hold.Reason) && !slices.Contains(reasons, string(hold.Reason)) {
			reasons = append(reasons, string(hold.Reason))
		}
	}
	return strings.Join(reasons, " and ")
}

// heldByChecks names the preflight checks that hold an attempt; empty if none does. What they find while it prepares holds nothing yet.
func heldByChecks(attempt *infrav1.ElementalHostUpgrade) string {
	checks := []string{}
	for _, hold := range attempt.Status.Holds {
		if hold.Check != "" && !slices.Contains(checks, hold.Check) {
			checks = append(checks, hold.Check)
		}
	}
	return strings.Join(checks, " and ")
}

// isHeldBy reports whether a hold is among those of an attempt.
func isHeldBy(attempt *infrav1.ElementalHostUpgrade, reason infrav1.HoldReason) bool {
	return slices.ContainsFunc(attempt.Status.Holds, func(hold infrav1.UpgradeHold) bool { return hold.Reason == reason })
}

// because is the message of an end, as far as it fits.
func because(message string) string {
	if message == "" {
		return ""
	}
	if len(message) > maxReason {
		message = strings.ToValidUTF8(message[:maxReason], "") + "..."
	}
	return ": " + message
}

// countTargets says of each target how many of its nodes are on it, in the order of their images.
func countTargets(nodes []node) []string {
	type count struct{ all, on int }
	counts, digests := map[string]count{}, map[string]string{}
	for _, n := range nodes {
		if n.target.image == "" {
			continue
		}
		c := counts[n.target.image]
		c.all++
		if n.onTarget {
			c.on++
		}
		counts[n.target.image] = c
		digests[n.target.image] = agreed(digests, n.target)
	}
	said := make([]string, 0, len(counts))
	for _, image := range slices.Sorted(maps.Keys(counts)) {
		said = append(said, fmt.Sprintf("%d of %d nodes on %s", counts[image].on, counts[image].all, cmp.Or(short(digests[image]), image)))
	}
	return said
}

// unclear stands for digests of one image that differ, as those of a tag that was pushed again.
const unclear = "unclear"

// agreed is the digest of an image, if all who know one know the same.
func agreed(digests map[string]string, of target) string {
	known, found := digests[of.image]
	if !found || known == "" || of.digest == "" || known == of.digest {
		return cmp.Or(known, of.digest)
	}
	return unclear
}

// short is the beginning of a digest, by which people tell images apart.
func short(digest string) string {
	algorithm, digits, ok := strings.Cut(digest, ":")
	if !ok {
		return ""
	}
	return algorithm + ":" + digits[:min(shownDigits, len(digits))]
}

// shortened leaves out what is more than can be read at a glance.
func shortened(said []string) []string {
	if len(said) <= maxNamed {
		return said
	}
	return append(slices.Clone(said[:maxNamed]), fmt.Sprintf("and %d more", len(said)-maxNamed))
}
