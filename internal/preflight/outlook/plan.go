// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const (
	// longest is what an API server leaves of a warning.
	longest = 256
	// maxNodes are listed: an API server drops the warnings beyond 4,096 characters in all.
	maxNodes = 40
)

// inOrder is the order in which Cluster API takes Machines for a rotated reference, as long as nothing is wrong with one of them: the
// control plane first, by age, and then workers by name.
// Source: KubeadmControlPlane and MachineSet of Cluster API 1.14.
func inOrder(a, b *preflight.Subject) int {
	first, second := util.IsControlPlaneMachine(a.Machine), util.IsControlPlaneMachine(b.Machine)
	switch {
	case first && !second:
		return -1
	case second && !first:
		return 1
	case first && !a.Machine.CreationTimestamp.Equal(&b.Machine.CreationTimestamp):
		return a.Machine.CreationTimestamp.Compare(b.Machine.CreationTimestamp.Time)
	}
	return cmp.Compare(a.Machine.Name, b.Machine.Name)
}

// Plan is the upgrade in words, a line for each node and each thing that would be waited for.
func (o *Outlook) Plan() []string {
	lines := []string{}
	if o.Unreachable {
		lines = append(lines, Cut(workload.Unreached(o.Cluster.Name, nil)+". The upgrade will be checked before each node"))
		return append(lines, prefixed(waitsFor, o.waits)...)
	}
	lines = append(lines, Cut(fmt.Sprintf("Cluster %s: %s to upgrade, %d at a time%s", o.Cluster.Name, countNodes(len(o.Subjects)), o.Options.MaxConcurrent, o.takes())))
	for i, subject := range o.Subjects {
		if i == maxNodes {
			lines = append(lines, fmt.Sprintf("and %d more", len(o.Subjects)-maxNodes))
			break
		}
		name := subject.Node.Name
		lines = append(lines, Cut(fmt.Sprintf("%d. Node %s%s%s%s", i+1, name, o.pauses(subject), o.doing[name], tellDecisions(o.Decisions[name]))))
	}
	lines = append(lines, prefixed(waitsFor, o.waits)...)
	for _, result := range o.Results {
		lines = append(lines, Cut(word(result.Verdict)+Name(result)))
	}
	for _, name := range o.strangers {
		lines = append(lines, Cut(bewareOf+"nodeUpgradeOption.strategy.pauseNodes of ElementalCluster "+o.elemental.Name+": Cluster "+o.Cluster.Name+" has no Node "+name))
	}
	return append(lines, prefixed(bewareOf, o.beware)...)
}

func prefixed(with string, lines []string) []string {
	found := make([]string, 0, len(lines))
	for _, line := range lines {
		found = append(found, Cut(with+line))
	}
	return found
}

func countNodes(count int) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}

// pauses says what a user has to do before the node goes.
func (o *Outlook) pauses(subject *preflight.Subject) string {
	switch {
	case pausing.MarksOf(subject.Node).Paused:
		return ": is paused, and waits until its annotation " + infrav1.NodeUpgradePauseAnnotation + " is removed"
	case pausing.Names(o.Options.Strategy, subject.Node.Name):
		return ": will pause by nodeUpgradeOption.strategy, and wait until its annotation " + infrav1.NodeUpgradePauseAnnotation + " is removed"
	}
	return ""
}

// strangers are the names in a strategy that none of some Nodes has.
func strangers(strategy infrav1.NodeUpgradeStrategy, nodes []corev1.Node) []string {
	return slices.DeleteFunc(slices.Clone(strategy.PauseNodes), func(name string) bool {
		return slices.ContainsFunc(nodes, func(node corev1.Node) bool { return node.Name == name })
	})
}

// What begins the line of something that an upgrade waits for, or does not.
const (
	waitsFor = "Waits for "
	bewareOf = "Beware of "
)

func word(verdict infrav1.PreflightVerdict) string {
	if verdict == infrav1.PreflightBlock {
		return waitsFor
	}
	return bewareOf
}

// Name a result in a line that names its check, as a waiver does.
func Name(result infrav1.PreflightResult) string {
	return preflight.Line(result) + " [" + result.Check + "]"
}

// DescribeAll are the lines of results.
func DescribeAll(results []infrav1.PreflightResult) []string {
	lines := make([]string, 0, len(results))
	for _, result := range results {
		lines = append(lines, Name(result))
	}
	return slices.Compact(lines)
}

// Cut a line to what arrives of it.
func Cut(line string) string {
	line = strings.ReplaceAll(line, "\n", " ")
	runes := []rune(line)
	if len(runes) <= longest {
		return line
	}
	return string(runes[:longest-3]) + "..."
}

// Warnings are the lines of what does not block.
func (o *Outlook) Warnings() []string {
	lines := []string{}
	for _, result := range o.Results {
		if result.Verdict == infrav1.PreflightWarn {
			lines = append(lines, Cut(word(result.Verdict)+Name(result)))
		}
	}
	return lines
}
