// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Cordons returns the intervals in which each Node was unschedulable, from the Nodes as the API
// server stored them.
func Cordons(events []auditv1.Event) map[string][]Interval {
	return track(events, func(node *corev1.Node) bool { return node.Spec.Unschedulable })
}

// Downtimes returns the intervals in which each Node was not Ready. A Node that has never been
// Ready is not down.
func Downtimes(events []auditv1.Event) map[string][]Interval {
	seenReady := map[string]bool{}
	return track(events, func(node *corev1.Node) bool {
		ready := isReady(node)
		seenReady[node.Name] = seenReady[node.Name] || ready
		return seenReady[node.Name] && !ready
	})
}

func track(events []auditv1.Event, is func(*corev1.Node) bool) map[string][]Interval {
	return intervals(events, func(event auditv1.Event) *sight {
		node := writtenNode(event)
		if node == nil {
			return nil
		}
		return &sight{name: node.Name, version: node.ResourceVersion, holds: func() bool { return is(node) }}
	})
}

func writtenNode(event auditv1.Event) *corev1.Node {
	if event.ObjectRef == nil || event.ObjectRef.Resource != "nodes" || !IsWrite(event) || !Succeeded(event) || event.ResponseObject == nil {
		return nil
	}
	node := &corev1.Node{}
	if err := json.Unmarshal(event.ResponseObject.Raw, node); err != nil || node.Kind != "Node" {
		return nil
	}
	return node
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
