// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"fmt"
	"slices"
	"strings"
)

// table records which kills were made, and in which run.
type table struct {
	edges []listed
	// wanted are the kills that the edges require.
	wanted map[cell]bool
	made   map[cell]int
}

func newTable(edges []listed) *table {
	t := &table{edges: edges, wanted: map[cell]bool{}, made: map[cell]int{}}
	for _, each := range edges {
		for _, c := range each.cells() {
			t.wanted[c] = true
		}
	}
	return t
}

// wants reports whether this kill would be new for one of the edges.
func (t *table) wants(c cell) bool { return t.wanted[c] && t.made[c] == 0 }

// make records a kill.
func (t *table) make(c cell, run int) {
	if t.wants(c) {
		t.made[c] = run
	}
}

// missing lists the kills of an edge that are still to be made.
func (t *table) missing(of listed) []cell {
	return slices.DeleteFunc(of.cells(), func(c cell) bool { return !t.wants(c) })
}

// String is the table in human-readable form: the run of each kill.
func (t *table) String() string {
	lines := &strings.Builder{}
	fmt.Fprintf(lines, "%-9s %-9s %-9s %-9s\n%-9s %-9s %-9s %-9s edge\n", manager, manager, agent, agent, before, after, before, after)
	for _, each := range t.edges {
		for _, c := range each.cells() {
			said := "-"
			if run := t.made[c]; run > 0 {
				said = fmt.Sprintf("run %d", run)
			}
			fmt.Fprintf(lines, "%-9s ", said)
		}
		fmt.Fprintln(lines, each.edge)
	}
	return lines.String()
}
