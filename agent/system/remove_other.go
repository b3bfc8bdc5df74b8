// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package system

import (
	"os"
	"path/filepath"
)

// RemoveTree removes an entry of a directory with all that is in it. Only Linux can tell what is mounted there; the agent runs
// nowhere else.
func RemoveTree(directory, name string) error { return os.RemoveAll(filepath.Join(directory, name)) }
