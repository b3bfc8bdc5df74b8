// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package killtable

import (
	"fmt"
	"slices"
	"strings"
)

// Table records which kills were made, and in which run.
type Table struct {
	edges []Listed
	kinds []Kill
	// wanted are the kills that the edges require.
	wanted map[cell]bool
	made   map[cell]int
}

// NewTable requires kills of these kinds for each edge.
func NewTable(edges []Listed, kinds []Kill) *Table {
	t := &Table{edges: edges, kinds: kinds, wanted: map[cell]bool{}, made: map[cell]int{}}
	for _, each := range edges {
		for _, c := range each.cells(t.kinds) {
			t.wanted[c] = true
		}
	}
	return t
}

// wants reports whether this kill would be new for one of the edges.
func (t *Table) wants(c cell) bool { return t.wanted[c] && t.made[c] == 0 }

// make records a kill.
func (t *Table) make(c cell, run int) {
	if t.wants(c) {
		t.made[c] = run
	}
}

// Missing lists the kills of an edge that are still to be made.
func (t *Table) Missing(of Listed) []cell {
	return slices.DeleteFunc(of.cells(t.kinds), func(c cell) bool { return !t.wants(c) })
}

// isOfHost reports whether it requires kills at the side effects of the host, too.
func (t *Table) isOfHost() bool {
	return slices.ContainsFunc(t.kinds, func(kind Kill) bool { return kind.victim == agent })
}

// String is the table in human-readable form: the run of each kill.
func (t *Table) String() string {
	lines := &strings.Builder{}
	for _, kind := range t.kinds {
		fmt.Fprintf(lines, "%-15s ", fmt.Sprintf("%s %s", kind.victim, kind.side))
	}
	fmt.Fprintln(lines, "edge")
	for _, each := range t.edges {
		for _, c := range each.cells(t.kinds) {
			said := "-"
			if run := t.made[c]; run > 0 {
				said = fmt.Sprintf("run %d", run)
			}
			fmt.Fprintf(lines, "%-15s ", said)
		}
		fmt.Fprintln(lines, each.Edge)
	}
	return lines.String()
}
