// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package tree

import (
	"context"
	"errors"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// CompareImage needs Linux; the agent runs nowhere else.
func CompareImage(context.Context, system.Runner, string, string) error {
	return errors.New("images are mounted on Linux only")
}
