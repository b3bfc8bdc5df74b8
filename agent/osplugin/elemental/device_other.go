// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package elemental

// deviceNumber is not supported: block devices are read on Linux only.
func deviceNumber(string) string { return "" }
