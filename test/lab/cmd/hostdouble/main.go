// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command hostdouble is the multi-call binary with all commands of a lab host; see package double.
package main

import (
	"os"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
)

func main() { os.Exit(double.Main()) }
