// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Window that opens again and again.
type Window struct {
	schedule cron.Schedule
	zone     *time.Location
	duration time.Duration
}

const (
	// apart is how long after each other the openings of a window are, at least: what is asked of windows walks through all of them.
	apart = time.Hour
	// Farthest is how far windows are joined that follow each other without a pause: one that opens each day for a day never closes.
	Farthest = 8 * 24 * time.Hour
	// shift is more than clocks are put forward or back at once. Source: the IANA database, whose zones have shifts of up to two hours today.
	shift = 3 * time.Hour
)

// Parse a schedule of the five fields of cron (or "@daily" and the like), in a zone of the IANA database; an empty zone is UTC.
func Parse(schedule, zone string, duration time.Duration) (Window, error) {
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" { // that is the zone of the manager's container
		return Window{}, fmt.Errorf("timeZone %q is not in the IANA database: use a name such as Europe/Berlin", zone)
	}
	if strings.Contains(schedule, "TZ=") {
		return Window{}, fmt.Errorf("schedule %q has a time zone: set timeZone instead", schedule)
	}
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return Window{}, fmt.Errorf("schedule %q is not one of cron, such as \"0 22 * * 1-5\": %w", schedule, err)
	}
	if _, isSpec := parsed.(*cron.SpecSchedule); !isSpec { // @every has no times of the day
		return Window{}, fmt.Errorf("schedule %q is not one of cron, such as \"0 22 * * 1-5\"", schedule)
	}
	if err := checkOpenings(parsed); err != nil {
		return Window{}, fmt.Errorf("schedule %q %w", schedule, err)
	}
	return Window{schedule: parsed, zone: location, duration: duration}, nil
}

// checkOpenings looks at the openings of a day.
func checkOpenings(schedule cron.Schedule) error {
	const perDay = 24
	opens := schedule.Next(time.Unix(0, 0).UTC())
	for range perDay {
		next := schedule.Next(opens)
		switch {
		case opens.IsZero():
			return errors.New("has no time: it names a day that no month has")
		case !next.IsZero() && next.Sub(opens) < apart:
			return fmt.Errorf("opens more than once in %s: set its durationSeconds instead", apart)
		}
		opens = next
	}
	return nil
}

// next is the first opening after a time. The schedule is evaluated on the clock on the wall, which is then looked up in the zone: one that the clock
// skips, when it is put forward, opens at the next valid instant; one that it shows twice opens the first time.
func (w Window) next(after time.Time) time.Time {
	wall := onWall(after.In(w.zone)).Add(-shift)
	for {
		wall = w.schedule.Next(wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if opens := instant(wall, w.zone); opens.After(after) {
			return opens
		}
	}
}

// onWall is what the clock on the wall shows, as if it were UTC.
func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// instant at which the clock on the wall of a zone shows a time.
func instant(wall time.Time, zone *time.Location) time.Time {
	found := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	begins, ends := found.ZoneBounds()
	switch shown := onWall(found); {
	case shown.After(wall):
		return begins // the clock was put forward over it
	case shown.Before(wall):
		return ends
	case begins.IsZero():
		return found
	}
	_, offset := found.Zone()
	_, former := begins.Add(-time.Second).Zone()
	if earlier := found.Add(-time.Duration(former-offset) * time.Second); former > offset && earlier.Before(begins) {
		return earlier // the clock was put back, and shows it twice
	}
	return found
}

// closes is when a window that is open at a time closes; zero if it is closed. What counts is the latest opening, which is looked for farther and farther back:
// a window that opens each hour for days has opened hundreds of times since.
func (w Window) closes(at time.Time) time.Time {
	for back := apart; ; back *= 2 {
		isAll := back >= w.duration
		opens := w.next(at.Add(-min(back, w.duration)))
		if !opens.IsZero() && !opens.After(at) {
			return w.latest(opens, at).Add(w.duration)
		}
		if isAll {
			return time.Time{}
		}
	}
}

// latest opening until a time, from one on that is not later.
func (w Window) latest(opens, until time.Time) time.Time {
	for next := w.next(opens); !next.IsZero() && !next.After(until); next = w.next(opens) {
		opens = next
	}
	return opens
}

// Closes is when the windows that are open at a time close, those that follow without a pause included; zero if none is open.
func Closes(windows []Window, at time.Time) time.Time {
	latest := time.Time{}
	for latest.Sub(at) < Farthest {
		joined := latest
		for _, window := range windows {
			from := at
			if !latest.IsZero() {
				from = latest
			}
			if closes := window.closes(from); closes.After(joined) {
				joined = closes
			}
		}
		if joined.Equal(latest) {
			break
		}
		latest = joined
	}
	return latest
}

// Next is the next opening of one of some windows after a time; zero if there is none.
func Next(windows []Window, after time.Time) time.Time {
	found := []time.Time{}
	for _, window := range windows {
		if opens := window.next(after); !opens.IsZero() {
			found = append(found, opens)
		}
	}
	if len(found) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(found, time.Time.Compare)
}

// Longest is for how long one of some windows that opens after a time is open, those that follow without a pause included. It looks at
// the next openings of each. One that opens while others are open is not open for longer than what they are joined to.
func Longest(windows []Window, after time.Time) time.Duration {
	longest, until := time.Duration(0), time.Time{}
	for _, opens := range openings(windows, after) {
		if opens.Before(until) {
			continue
		}
		until = Closes(windows, opens)
		longest = max(longest, until.Sub(opens))
	}
	return longest
}

// openings are the next of each window after a time, sorted.
func openings(windows []Window, after time.Time) []time.Time {
	const looksAt = 20
	found := []time.Time{}
	for _, window := range windows {
		opens := after
		for range looksAt {
			if opens = window.next(opens); opens.IsZero() {
				break
			}
			found = append(found, opens)
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	return found
}
