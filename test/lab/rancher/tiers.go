// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// oneByOne is the concurrency of etcd, which cannot be set.
const oneByOne = "1"

// tier is a part of the nodes that is rolled before the next one.
type tier struct {
	name        string
	has         func(*entry) bool
	concurrency string
	options     DrainOptions
}

// tiers in their order.
func tiers(strategy UpgradeStrategy) []tier {
	return []tier{
		{"bootstrap", func(e *entry) bool { return e.isEtcd() && e.isInitNode() }, oneByOne, strategy.ControlPlaneDrainOptions},
		{"etcd", func(e *entry) bool { return e.isEtcd() && !e.isInitNode() }, oneByOne, strategy.ControlPlaneDrainOptions},
		{
			controlPlaneTier, func(e *entry) bool { return e.isControlPlane() && !e.isInitNode() },
			strategy.ControlPlaneConcurrency, strategy.ControlPlaneDrainOptions,
		},
		{"worker", (*entry).isOnlyWorker, strategy.WorkerConcurrency, strategy.WorkerDrainOptions},
	}
}

// controlPlaneTier is the last one before the control plane is initialized.
const controlPlaneTier = "control plane"

func (t tier) of(entries []*entry) []*entry {
	found := []*entry{}
	for _, e := range entries {
		if t.has(e) {
			found = append(found, e)
		}
	}
	return found
}

// limit is how many of so many may be unavailable; 0 is no limit.
func (t tier) limit(count int) (int, error) {
	if t.concurrency == "" {
		return 1, nil
	}
	if limit, err := strconv.Atoi(t.concurrency); err == nil {
		return limit, nil
	}
	percentage, err := strconv.ParseFloat(strings.TrimSuffix(t.concurrency, "%"), 64)
	if err != nil {
		return 0, fmt.Errorf("reading the concurrency of tier %s: %w", t.name, err)
	}
	const whole = 100
	return int(math.Ceil(float64(count) * percentage / whole)), nil
}

// said collects what the machines of a tier wait for.
type said map[string][]string

func (s said) add(what string, e *entry, reason string) {
	s[what] = append(s[what], e.machine.Name+": "+reason)
}

// message of a tier; empty if nothing has to be waited for. Only the first kind is shown.
func (s said) message(tier string) string {
	for _, what := range []string{uncordoning, draining, configuring} {
		if len(s[what]) > 0 {
			return fmt.Sprintf("%s %s node(s) %s", what, tier, strings.Join(s[what], ", "))
		}
	}
	return ""
}
