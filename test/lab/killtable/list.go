// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package killtable

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// Listed is an edge of a list.
type Listed struct {
	Edge Edge
	// previous is the agent's side effect before one on its own disk. The agent cannot be stopped between the two, and
	// there is no need to: the state at its restart is the same after the one and before the other.
	previous Edge
	// byChance reports that it may not occur, because it depends on timing.
	byChance bool
}

const (
	// pairing separates an edge from its previous one.
	pairing = "  <-  "
	// chance begins the line of an edge that may not occur.
	chance = "? "
)

// String is the line of an edge.
func (l Listed) String() string {
	line := string(l.Edge)
	if l.byChance {
		line = chance + line
	}
	if l.previous != "" {
		line += pairing + string(l.previous)
	}
	return line
}

// ReadEdges reads the list: one edge a line.
func ReadEdges(list string) []Listed {
	all := []Listed{}
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line, byChance := strings.CutPrefix(line, chance)
		name, previous, _ := strings.Cut(line, pairing)
		all = append(all, Listed{Edge: Edge(name), previous: Edge(previous), byChance: byChance})
	}
	return all
}

// InFocus are the edges that specs are run for: those selected by -ginkgo.focus, or all.
func InFocus(all []Listed) []Listed {
	suite, _ := GinkgoConfiguration()
	if len(suite.FocusStrings) == 0 {
		return all
	}
	focus := regexp.MustCompile(strings.Join(suite.FocusStrings, "|"))
	return slices.DeleteFunc(all, func(l Listed) bool { return !focus.MatchString(string(l.Edge)) })
}

// cells are the kills of these kinds that an edge requires.
func (l Listed) cells(kinds []Kill) []cell {
	all := []cell{}
	for _, kind := range kinds {
		at := cell{l.Edge, kind.victim, kind.side}
		if kind.side == before && l.previous != "" {
			at = cell{l.previous, kind.victim, after}
		}
		all = append(all, at)
	}
	return all
}

// Certain are the edges that occur in every upgrade. The processes are killed at the others too, when they occur.
func Certain(list []Listed) []Listed {
	return slices.DeleteFunc(slices.Clone(list), func(l Listed) bool { return l.byChance })
}

// Compare compares a list with what was recorded. An edge that only changes text may or may not occur.
func Compare(list []Listed, recorded []Edge) (missing, unknown []Edge) {
	known := map[Edge]bool{}
	for _, each := range list {
		known[each.Edge] = true
		if !each.byChance && !slices.Contains(recorded, each.Edge) {
			missing = append(missing, each.Edge)
		}
	}
	for _, e := range recorded {
		if !known[e] && !e.isText() {
			unknown = append(unknown, e)
		}
	}
	return missing, unknown
}

// WriteEdges writes what was recorded to the file of a list, and keeps its comments and flags.
func WriteEdges(file, committed string, recorded []Edge) error {
	known, lines := map[Edge]Listed{}, []string{}
	for _, each := range ReadEdges(committed) {
		known[each.Edge] = each
		if each.byChance && !slices.Contains(recorded, each.Edge) {
			recorded = append(recorded, each.Edge)
		}
	}
	for line := range strings.Lines(committed) {
		if strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(recorded)
	for _, e := range recorded {
		each := known[e]
		each.Edge = e
		lines = append(lines, each.String())
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("writing the edges: %w", err)
	}
	return nil
}
