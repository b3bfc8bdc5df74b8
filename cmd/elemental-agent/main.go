// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command elemental-agent is the daemon on each host; see package agent.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

// memoryLimit is when garbage is collected while the agent works, in bytes. Before and after, the agent
// trims itself: collections by the clock would only wake up an idle one, and map its program again. The program itself takes up to
// 15 MiB, so that a higher limit would let what a registry holds take the agent over 25 MiB.
const memoryLimit = 10 << 20

func main() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stopped := ctx.Err() != nil
	stop()
	if err != nil && !stopped {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode tells the agent, which calls itself, that a tree differs from what was recorded, and all else that it could not be told.
func exitCode(err error) int {
	if difference := (*tree.Difference)(nil); errors.As(err, &difference) {
		return tree.ExitDiffers
	}
	return 1
}
