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
	// steps is the number of progress reports for a stage of known size at its usual pace: each is a write to the management cluster, while
	// thousands of hosts may download.
	steps = 10
	// stepBytes is the progress between two reports if the size is unknown.
	stepBytes = 256 * mebibyte
	// longestStep is the maximum time between two reports if there is any progress.
	longestStep = time.Minute
)

// meter is called at the beginning of a stage, and returns a function that counts the bytes that are done, negative if unknown, and their
// total, 0 if unknown.
type meter func(ctx context.Context) (count func(context.Context) (done, total int64))

// counted runs act and reports its progress. Progress is not state: it is not in the marker, and is removed from the report when this
// returns.
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

// watch reports progress until ctx ends. It never decreases, although the CLI removes files at the end.
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
		attempt.Message = "" // a request that failed before is getting on
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

// written counts the bytes written to the state partition. The total is unknown: the CLI keeps both the tree and its image for a while, and
// then removes the tree and former snapshots.
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
