// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// runsOn reports whether a Node is of the kind that a virtual machine runs on.
func (n *needs) runsOn(node *corev1.Node) bool { return n.isBuiltFor(node) && n.selects(node) }

func (n *needs) isBuiltFor(node *corev1.Node) bool {
	return n.architecture == "" || node.Labels[corev1.LabelArchStable] == n.architecture
}

// selects reports whether the node selector and the required node affinity of a virtual machine accept a Node.
func (n *needs) selects(node *corev1.Node) bool {
	if !labels.SelectorFromSet(n.selector).Matches(labels.Set(node.Labels)) {
		return false
	}
	return n.affinity == nil || slices.ContainsFunc(n.affinity.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return matches(term, node)
	})
}

// matches reports whether a Node meets all of a term. A term that is empty, or that cannot be understood, matches none.
func matches(term corev1.NodeSelectorTerm, node *corev1.Node) bool {
	if len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0 {
		return false
	}
	meets := func(set labels.Set) func(corev1.NodeSelectorRequirement) bool {
		return func(requirement corev1.NodeSelectorRequirement) bool {
			operator, known := operators[requirement.Operator]
			if !known {
				return false
			}
			parsed, err := labels.NewRequirement(requirement.Key, operator, requirement.Values)
			return err == nil && parsed.Matches(set)
		}
	}
	// The only field that can be selected by is the name.
	fields := labels.Set{metav1.ObjectNameField: node.Name}
	return all(term.MatchExpressions, meets(node.Labels)) && all(term.MatchFields, meets(fields))
}

func all[T any](items []T, is func(T) bool) bool {
	return !slices.ContainsFunc(items, func(item T) bool { return !is(item) })
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn:           selection.In,
	corev1.NodeSelectorOpNotIn:        selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}
