// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package hostapi

// canPeek reports whether a socket can be checked without reading from it.
const canPeek = false

func somethingToRead(uintptr) bool { return true }
