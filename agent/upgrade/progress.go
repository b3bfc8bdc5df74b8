// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// steps are the reports that a stage of known size brings at its usual pace: each is a write to the management cluster, where
	// thousands of hosts may download at a time.
	steps = 10
	// stepBytes is what has to be done between two reports where the size is not known.
	stepBytes = 256 * mebibyte
	// longestStep is after how long what is done is reported however little it is.
	longestStep = time.Minute
)

// meter makes, when something begins, what counts the bytes of it that are done, less than 0 where that cannot be told, and how many it
// will be, 0 where that is not known.
type meter func(ctx context.Context) (count func(context.Context) (done, total int64))

// counted does something that takes long, and reports how far it is. Progress is no state: it is not in the marker, and is gone from the
// report when this returns.
func (m *Machine) counted(ctx context.Context, stage string, begin meter, act func() error) error {
	if m.Policy.ProgressInterval <= 0 {
		return act()
	}
	count := begin(ctx)
	watching, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.watch(watching, stage, count)
	}()
	defer func() {
		stop()
		<-ended
		m.Reporter.Attempt(m.Marker().Wire())
	}()
	return act()
}

// watch reports progress until ctx ends. It never goes back: what the CLI removes at its end was written all the same.
func (m *Machine) watch(ctx context.Context, stage string, count func(context.Context) (done, total int64)) {
	reported, at := int64(0), m.Clock.Uptime()
	for system.Wait(ctx, m.Clock, m.Policy.ProgressInterval) == nil {
		done, total := count(ctx)
		if total > 0 {
			done = min(done, total)
		}
		now := m.Clock.Uptime()
		if done <= reported || ctx.Err() != nil || done-reported < stepOf(total) && now-at < longestStep {
			continue
		}
		reported, at = done, now
		attempt := m.Marker().Wire()
		attempt.Progress = &wire.Progress{Stage: stage, Bytes: done, TotalBytes: total}
		m.Reporter.Attempt(attempt)
	}
}

func stepOf(total int64) int64 {
	if total == 0 {
		return stepBytes
	}
	return total / steps
}

// written counts what has been written to the state partition since. How much it will be is not known: the CLI holds the tree and the
// image of it for a while, and removes the one and former snapshots.
func (m *Machine) written(ctx context.Context) func(context.Context) (int64, int64) {
	before, err := m.Plugin.Space(ctx)
	return func(ctx context.Context) (int64, int64) {
		now, failed := m.Plugin.Space(ctx)
		if err != nil || failed != nil {
			return -1, 0
		}
		return before.State - now.State, 0
	}
}
