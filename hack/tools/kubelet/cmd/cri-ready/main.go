// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cri-ready waits until a container runtime answers as such: "cri-ready unix:///run/containerd/containerd.sock".
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	remote "k8s.io/cri-client/pkg"
)

const (
	// patience is how long the runtime may take, and interval how often it is asked.
	patience = time.Minute
	interval = 100 * time.Millisecond
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		_, err := remote.NewRemoteRuntimeService(ctx, os.Args[1], time.Second, nil, false)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		case <-time.After(interval):
		}
	}
}
