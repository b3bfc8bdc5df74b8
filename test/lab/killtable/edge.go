// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package killtable

import (
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
)

// Edge is a side effect of an upgrade, identified by what it changes, not by when: it is the same in every upgrade.
type Edge string

func (e Edge) isText() bool { return strings.HasSuffix(string(e), " "+admission.OnlyText) }

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
	edge   Edge
	victim victim
	side   side
}

// Kill is a kind of kill.
type Kill struct {
	victim victim
	side   side
}

// EachProcess is killed on both sides of an edge.
func EachProcess() []Kill {
	return []Kill{{manager, before}, {manager, after}, {agent, before}, {agent, after}}
}

// ManagerAlone is killed on both sides of an edge. After it, what the manager would do next is not done.
func ManagerAlone() []Kill { return []Kill{{manager, before}, {manager, after}} }

func sortedEdges(set map[Edge]bool) []Edge {
	all := make([]Edge, 0, len(set))
	for e := range set {
		all = append(all, e)
	}
	slices.Sort(all)
	return all
}
