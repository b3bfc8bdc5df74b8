// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/cluster-api/util/labels/format"
)

const (
	// nameLength keeps every name usable as the value of a label as well.
	nameLength     = 63
	recordSuffix   = 8
	upgradeSuffix  = 10
	nameSeparators = "-."
)

// newName is a name for a rollout of a template. It is random, since it must not be used again: attempts, and approvals of nodes, are known by it.
func newName(template string) string { return suffixed(template, rand.String(recordSuffix)) }

// UpgradeName is the name of the attempt to upgrade a node, by the text that it starts with, for a Machine in a rollout. It is deterministic, so that what makes the
// attempt again finds it.
func UpgradeName(node, machine, rollout string) string {
	return suffixed(node, digest(upgradeSuffix, machine, rollout))
}

// LabelValue converts a name to the value of a label: the name itself, or a hash if it is too long.
func LabelValue(name string) string { return format.MustFormatValue(name) }

func suffixed(name, suffix string) string {
	if longest := nameLength - len(suffix) - 1; len(name) > longest {
		name = strings.TrimRight(name[:longest], nameSeparators)
	}
	return name + "-" + suffix
}
