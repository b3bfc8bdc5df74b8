// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// turn is the time in which a node held the slot, and when its host was triggered.
type turn struct {
	// ready is when its attempt had passed all steps before the slot.
	ready, taken, triggered, freed time.Time
}

// readAudit determines from the audit log how long the slot was free, and what was written.
func (b *bench) readAudit(ctx context.Context, os image.Image, began, ended time.Time, result *figures) {
	GinkgoHelper()
	upgrades := b.attempts(ctx, os)
	Expect(upgrades).To(HaveLen(b.upgraded))
	events := suite.Audit(b.cluster.Lab.Management)
	slots, triggers := audit.Slots(events, b.cluster.Options.Name), audit.Triggered(events)
	turns := []turn{}
	for i := range upgrades {
		held, triggered := slots[upgrades[i].Name], since(triggers[upgrades[i].Spec.HostName], began)
		Expect(held).To(HaveLen(1), "the slot of "+upgrades[i].Name)
		Expect(held[0].To).NotTo(BeZero(), "the slot of "+upgrades[i].Name)
		Expect(triggered).To(HaveLen(1), "the trigger of "+upgrades[i].Spec.HostName)
		turns = append(turns, turn{ready: readyAt(&upgrades[i]), taken: held[0].From, triggered: triggered[0].From, freed: held[0].To})
	}
	result.Slot, result.Taken = gaps(turns)
	Expect(result.Slot.Count).To(BeNumerically(">=", b.upgraded/2), "attempts that waited at Admit when the slot became free")
	result.Writes, result.Reads = audit.Writes(events, lab.ManagerUser, began, ended), audit.Reads(events, lab.ManagerUser, began, ended)
}

func since(intervals []audit.Interval, began time.Time) []audit.Interval {
	return slices.DeleteFunc(slices.Clone(intervals), func(i audit.Interval) bool { return i.From.Before(began) })
}

// readyAt is when an attempt has passed the step before Admit, in whole seconds.
func readyAt(upgrade *infrav1.ElementalHostUpgrade) time.Time {
	for _, step := range upgrade.Status.Steps {
		if step.Name == attempts.StepApprove && step.CompletionTime != nil {
			return step.CompletionTime.Time
		}
	}
	return upgrade.Status.CompletionTime.Time
}

// gaps are the times from the release of the slot to the next trigger, and to the next acquisition of the slot, if the
// next attempt was waiting by then.
func gaps(turns []turn) (triggered, taken spread) {
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.taken.UnixNano(), b.taken.UnixNano()) })
	toTrigger, toSlot := []time.Duration{}, []time.Duration{}
	for i := 1; i < len(turns); i++ {
		former, next := turns[i-1], turns[i]
		if next.ready.Before(former.freed) {
			toTrigger, toSlot = append(toTrigger, next.triggered.Sub(former.freed)), append(toSlot, next.taken.Sub(former.freed))
		}
	}
	return spreadOf(toTrigger), spreadOf(toSlot)
}

// spread of durations, in seconds.
type spread struct {
	Count  int     `json:"count"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Most   float64 `json:"most"`
}

func spreadOf(durations []time.Duration) spread {
	if len(durations) == 0 {
		return spread{}
	}
	slices.Sort(durations)
	at := func(percent int) float64 { return durations[(len(durations)-1)*percent/100].Seconds() }
	return spread{Count: len(durations), Median: at(50), P90: at(90), Most: at(100)}
}
