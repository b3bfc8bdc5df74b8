#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  sigs.k8s.io/cluster-api v1.14.2 (clusterctl)
# Guess:     "clusterctl move" waits for objects with the annotation clusterctl.cluster.x-k8s.io/block-move, also with
#            --to-directory: both pause the Clusters and save their objects, and a provider sets the annotation while an object must
#            not be taken along.
# Behaviour: With --to-directory nothing waits: objects are saved as they are, in the middle of what their provider does, with the
#            annotation, which they then have in the management cluster that reads the files.
# Seen:      what expect compares below. Both run on the same Cluster; move is stopped after three seconds.
# Source:    move and toDirectory in cmd/clusterctl/client/cluster/mover.go of Cluster API. Its book has the annotation in the
#            contract of "clusterctl move" and says nothing of --to-directory.
# Here:      docs/restore.md says so, and what becomes of a host that reboots.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib-clusterctl.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

clusterctl_module
go_run <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
)

var blocked = map[string]string{clusterctlv1.BlockMoveAnnotation: "true"}

func main() {
	check(os.Mkdir("saved", 0o700))
	check(of(newSource(blocked)).ObjectMover().ToDirectory(context.Background(), "default", "saved"))
	files, err := filepath.Glob("saved/*")
	check(err)
	content, err := os.ReadFile(files[0])
	check(err)
	fmt.Printf("to a directory: %d saved, with the annotation: %v\n", len(files), strings.Contains(string(content), clusterctlv1.BlockMoveAnnotation))

	move(nil)
	move(blocked)
}

// move moves a Cluster with annotations to another management cluster.
func move(annotations map[string]string) {
	target := newManagement()
	limited, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err := of(newSource(annotations)).ObjectMover().Move(limited, "default", of(target), false)
	waits := err != nil && strings.Contains(err.Error(), "waiting for resources to be ready to move")
	fmt.Printf("to a cluster, with %d annotations: %d moved, waits: %v\n", len(annotations), len(target.clusters()), waits)
	if err != nil && !waits {
		panic(err)
	}
}
GO
expect <<'SEEN'
to a directory: 1 saved, with the annotation: true
to a cluster, with 0 annotations: 1 moved, waits: false
to a cluster, with 1 annotations: 0 moved, waits: true
SEEN
