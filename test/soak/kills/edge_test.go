// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
)

// edge is a side effect of an upgrade, identified by what it changes, not by when: it is the same in every upgrade.
type edge string

func (e edge) isText() bool { return strings.HasSuffix(string(e), " "+admission.OnlyText) }

// side of an edge.
type side string

const (
	before side = "before"
	after  side = "after"
)

// victim of a kill.
type victim string

const (
	manager victim = "manager"
	agent   victim = "agent"
)

// cell of the table: a kill.
type cell struct {
	edge   edge
	victim victim
	side   side
}

//go:embed testdata/edges.txt
var committed string

// listed is an edge of testdata/edges.txt.
type listed struct {
	edge edge
	// previous is the agent's side effect before one on its own disk. The agent cannot be stopped between the two, and
	// there is no need to: the state at its restart is the same after the one and before the other.
	previous edge
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
func (l listed) String() string {
	line := string(l.edge)
	if l.byChance {
		line = chance + line
	}
	if l.previous != "" {
		line += pairing + string(l.previous)
	}
	return line
}

// readEdges reads the list: one edge a line.
func readEdges(list string) []listed {
	all := []listed{}
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line, byChance := strings.CutPrefix(line, chance)
		name, previous, _ := strings.Cut(line, pairing)
		all = append(all, listed{edge: edge(name), previous: edge(previous), byChance: byChance})
	}
	return all
}

// inFocus are the edges that specs are run for: those selected by -ginkgo.focus, or all.
func inFocus(all []listed) []listed {
	suite, _ := GinkgoConfiguration()
	if len(suite.FocusStrings) == 0 {
		return all
	}
	focus := regexp.MustCompile(strings.Join(suite.FocusStrings, "|"))
	return slices.DeleteFunc(all, func(l listed) bool { return !focus.MatchString(string(l.edge)) })
}

// cells are the kills that an edge requires.
func (l listed) cells() []cell {
	all := []cell{}
	for _, who := range []victim{manager, agent} {
		first := cell{l.edge, who, before}
		if l.previous != "" {
			first = cell{l.previous, who, after}
		}
		all = append(all, first, cell{l.edge, who, after})
	}
	return all
}

func sortedEdges(set map[edge]bool) []edge {
	all := make([]edge, 0, len(set))
	for e := range set {
		all = append(all, e)
	}
	slices.Sort(all)
	return all
}
