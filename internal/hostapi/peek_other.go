// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package hostapi

// canPeek says whether a socket can be looked at without a read.
const canPeek = false

func somethingToRead(uintptr) bool { return true }
