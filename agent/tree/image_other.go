// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package tree

import (
	"context"
	"errors"
	"os"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// CompareSnapshot needs Linux; the agent runs nowhere else.
func CompareSnapshot(context.Context, system.Runner, Lists, string, func(done, total int64)) error {
	return errors.New("snapshots are compared on Linux only")
}

func forgetRead(*os.File) error { return nil }
