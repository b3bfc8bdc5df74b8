// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// BlockedBy names the checks that block, as "NodeReady and Volumes", in the order in which they are run; empty if none does.
func BlockedBy(results []infrav1.PreflightResult) string {
	names := []string{}
	for _, result := range results {
		if result.Verdict == infrav1.PreflightBlock {
			names = append(names, result.Check)
		}
	}
	return strings.Join(names, " and ")
}

// Blockers are the lines of what blocks, each an object and what to do about it.
func Blockers(results []infrav1.PreflightResult) []string {
	lines := []string{}
	for _, result := range results {
		if result.Verdict == infrav1.PreflightBlock {
			lines = append(lines, Line(result))
		}
	}
	return lines
}

// Line is a result in words.
func Line(result infrav1.PreflightResult) string {
	return result.Object + ": " + result.Message
}

// ByCheck makes one result of all that a check found of a verdict, the worst, as a status lists them.
func ByCheck(results []infrav1.PreflightResult) []infrav1.PreflightResult {
	merged := []infrav1.PreflightResult{}
	for start := 0; start < len(results); {
		end := start + 1
		for end < len(results) && results[end].Check == results[start].Check {
			end++
		}
		merged = append(merged, merge(results[start:end]))
		start = end
	}
	return merged
}

// merge leaves out warnings of a check that blocks.
func merge(found []infrav1.PreflightResult) infrav1.PreflightResult {
	worst := infrav1.PreflightWarn
	if slices.ContainsFunc(found, func(r infrav1.PreflightResult) bool { return r.Verdict == infrav1.PreflightBlock }) {
		worst = infrav1.PreflightBlock
	}
	found = slices.DeleteFunc(slices.Clone(found), func(r infrav1.PreflightResult) bool { return r.Verdict != worst })
	if len(found) == 1 {
		return found[0]
	}
	objects := joined(found, func(r infrav1.PreflightResult) string { return r.Object })
	messages := make([]string, 0, len(found))
	for _, result := range found {
		messages = append(messages, Line(result))
	}
	return infrav1.PreflightResult{Check: found[0].Check, Verdict: worst, Object: objects, Message: strings.Join(messages, "; ")}
}

// joined names, in their order, and each once.
func joined[T any](items []T, name func(T) string) string {
	all := make([]string, 0, len(items))
	for _, item := range items {
		all = append(all, name(item))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}
