// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pod is the only program in the images of Pods: it waits for SIGTERM, which it ignores with the argument "stubborn".
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	for range signals {
		if len(os.Args) < 2 || os.Args[1] != "stubborn" {
			return
		}
	}
}
