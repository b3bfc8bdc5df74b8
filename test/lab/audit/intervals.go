// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strconv"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Interval in which a condition held. To is zero while it still holds.
type Interval struct{ From, To time.Time }

// Duration of the interval, up to now if it has not ended.
func (i Interval) Duration(now time.Time) time.Duration {
	if i.To.IsZero() {
		return now.Sub(i.From)
	}
	return i.To.Sub(i.From)
}

// sight is what one write shows of an object.
type sight struct {
	name, version string
	holds         func() bool
}

// intervals returns for each object the intervals in which a condition held, derived from the objects as the API
// server stored them.
func intervals(events []auditv1.Event, see func(auditv1.Event) *sight) map[string][]Interval {
	found, versions := map[string][]Interval{}, map[string]int64{}
	for i := range events {
		seen := see(events[i])
		if seen == nil || isOutdated(seen, versions) {
			continue
		}
		open := openInterval(found[seen.name])
		at := events[i].StageTimestamp.Time
		switch now := seen.holds(); {
		case now && open == nil:
			found[seen.name] = append(found[seen.name], Interval{From: at})
		case !now && open != nil:
			open.To = at
		}
	}
	return found
}

// isOutdated reports whether a later write of the object has been seen. Requests are logged in the order in which
// they completed, which for concurrent ones may differ from the order in which they were stored.
func isOutdated(seen *sight, versions map[string]int64) bool {
	version, err := strconv.ParseInt(seen.version, 10, 64)
	if err != nil || version < versions[seen.name] {
		return true
	}
	versions[seen.name] = version
	return false
}

func openInterval(intervals []Interval) *Interval {
	if len(intervals) == 0 || !intervals[len(intervals)-1].To.IsZero() {
		return nil
	}
	return &intervals[len(intervals)-1]
}

// MaxOverlap is the greatest number of objects for which the condition held at the same time.
func MaxOverlap(byName map[string][]Interval) int {
	most := 0
	for _, intervals := range byName {
		for _, interval := range intervals {
			most = max(most, holding(byName, interval.From))
		}
	}
	return most
}

func holding(byName map[string][]Interval, at time.Time) int {
	count := 0
	for _, intervals := range byName {
		for _, interval := range intervals {
			if !at.Before(interval.From) && (interval.To.IsZero() || at.Before(interval.To)) {
				count++
			}
		}
	}
	return count
}
