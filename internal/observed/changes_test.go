// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestChangesAreTimedByTheClockOfThoseWhoLook(t *testing.T) {
	g := NewWithT(t)
	at := func(seconds int) time.Time { return time.Date(2026, 3, 1, 12, 0, seconds, 0, time.UTC) }
	changes := Changes{}
	g.Expect(changes.Look("a", "8 h ahead", at(0))).To(Equal(Change{Since: at(0)}))
	g.Expect(changes.Look("b", "8 h ahead", at(3))).To(Equal(Change{Since: at(3)}), "each key has its own value")
	g.Expect(changes.Look("a", "8 h ahead", at(5))).To(Equal(Change{Since: at(0)}))
	g.Expect(changes.Look("a", "8 h behind", at(9))).To(Equal(Change{Since: at(9), After: at(5)}))
	g.Expect(changes.Look("a", "8 h behind", at(12))).To(Equal(Change{Since: at(9), After: at(5)}))
	g.Expect(changes.First("a", "8 h behind", at(12))).To(Equal("8 h ahead"))
	g.Expect(changes.Look("a", "8 h ahead", at(13))).To(Equal(Change{Since: at(13), After: at(12)}), "a former value is another one again")
}

func TestChangesForgetWhatNobodyLooksAt(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	changes := Changes{}
	for key := range 1000 {
		changes.Look(key, "", now)
	}
	changes.Look("watched", "", now)
	changes.Look("watched", "", now.Add(forgottenAfter-1))
	g.Expect(changes.each).To(HaveLen(1001))
	g.Expect(changes.Look("watched", "", now.Add(forgottenAfter)).Since).To(Equal(now))
	g.Expect(changes.each).To(HaveLen(1))
}

func TestAgeIsThatOfWhatWasSeenAndNoLessThanWhatIsCertain(t *testing.T) {
	for _, of := range []struct {
		name                 string
		ahead                time.Duration
		atOnce, aMinuteLater time.Duration
	}{
		{"8 h behind, which is not told from old", -8 * time.Hour, 8*time.Hour - Skew, 8*time.Hour - Skew + time.Minute},
		{"as far behind as it may be", -Skew, 0, time.Minute},
		{"1 min behind", -time.Minute, 0, time.Minute},
		{"the same", 0, 0, time.Minute},
		{"1 min ahead", time.Minute, 0, time.Minute},
		{"8 h ahead", 8 * time.Hour, 0, time.Minute},
	} {
		t.Run(of.name, func(t *testing.T) {
			g := NewWithT(t)
			now, changes := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Changes{}
			g.Expect(changes.Age("key", now.Add(of.ahead), now)).To(Equal(of.atOnce))
			g.Expect(changes.Age("key", now.Add(of.ahead), now.Add(time.Minute))).To(Equal(of.aMinuteLater))
		})
	}
}

func TestLeftOfAWaitIsBounded(t *testing.T) {
	for _, of := range []struct {
		name  string
		ahead time.Duration
		left  time.Duration
	}{
		{"8 h behind", -8 * time.Hour, 0}, {"1 min behind", -time.Minute, 0}, {"1 s behind", -time.Second, time.Second},
		{"the same", 0, 2 * time.Second}, {"1 min ahead", time.Minute, time.Minute + 2*time.Second},
		{"as far ahead as it may be", Skew, Skew + 2*time.Second}, {"further", Skew + 1, 0}, {"8 h ahead", 8 * time.Hour, 0},
	} {
		t.Run(of.name, func(t *testing.T) {
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			NewWithT(t).Expect(Left(2*time.Second, now.Add(of.ahead), now)).To(Equal(of.left))
		})
	}
}
