// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command elemental is a stand-in for the elemental CLI, for suites on machines with real partitions; see package standin.
package main

import (
	"context"
	"os"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/cli"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/standin"
)

func main() {
	os.Exit(cli.Call{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now,
		On: func(log *logrus.Logger) cli.Host { return standin.New(log) },
	}.Run(context.Background()))
}
