// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package elemental

// Only Linux has the block devices that are asked for.
func deviceNumber(string) string { return "" }
