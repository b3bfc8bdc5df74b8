// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Interval in which something was so. To is zero while it still is.
type Interval struct{ From, To time.Time }

// Duration of the interval, up to now while it lasts.
func (i Interval) Duration(now time.Time) time.Duration {
	if i.To.IsZero() {
		return now.Sub(i.From)
	}
	return i.To.Sub(i.From)
}

// Cordons returns when each Node was unschedulable, from the Nodes as the API server stored them.
func Cordons(events []auditv1.Event) map[string][]Interval {
	return track(events, func(node *corev1.Node) bool { return node.Spec.Unschedulable })
}

// Downtimes returns when each Node was not Ready. A Node that has never been Ready is not down.
func Downtimes(events []auditv1.Event) map[string][]Interval {
	seenReady := map[string]bool{}
	return track(events, func(node *corev1.Node) bool {
		ready := isReady(node)
		seenReady[node.Name] = seenReady[node.Name] || ready
		return seenReady[node.Name] && !ready
	})
}

func track(events []auditv1.Event, is func(*corev1.Node) bool) map[string][]Interval {
	intervals, versions := map[string][]Interval{}, map[string]int64{}
	for i := range events {
		node := writtenNode(events[i])
		if node == nil || isOutdated(node, versions) {
			continue
		}
		open := openInterval(intervals[node.Name])
		at := events[i].StageTimestamp.Time
		switch now := is(node); {
		case now && open == nil:
			intervals[node.Name] = append(intervals[node.Name], Interval{From: at})
		case !now && open != nil:
			open.To = at
		}
	}
	return intervals
}

// isOutdated says whether a later write of the Node has been seen. Requests are logged as they are completed, which
// for two at the same time need not be as they were stored.
func isOutdated(node *corev1.Node, versions map[string]int64) bool {
	version, err := strconv.ParseInt(node.ResourceVersion, 10, 64)
	if err != nil || version < versions[node.Name] {
		return true
	}
	versions[node.Name] = version
	return false
}

func openInterval(intervals []Interval) *Interval {
	if len(intervals) == 0 || !intervals[len(intervals)-1].To.IsZero() {
		return nil
	}
	return &intervals[len(intervals)-1]
}

// MaxOverlap is the greatest number of Nodes for which it was so at the same time.
func MaxOverlap(byNode map[string][]Interval) int {
	most := 0
	for _, intervals := range byNode {
		for _, interval := range intervals {
			most = max(most, holding(byNode, interval.From))
		}
	}
	return most
}

func holding(byNode map[string][]Interval, at time.Time) int {
	count := 0
	for _, intervals := range byNode {
		for _, interval := range intervals {
			if !at.Before(interval.From) && (interval.To.IsZero() || at.Before(interval.To)) {
				count++
			}
		}
	}
	return count
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
