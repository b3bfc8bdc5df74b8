// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package system

import "runtime/debug"

// Trim gives free heap memory back.
func Trim() { debug.FreeOSMemory() }
