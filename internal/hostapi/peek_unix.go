// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package hostapi

import (
	"errors"
	"syscall"
)

// canPeek reports whether a socket can be checked without reading from it.
const canPeek = true

// somethingToRead reports whether a socket has data, or was closed, without consuming anything.
func somethingToRead(descriptor uintptr) bool {
	var one [1]byte
	_, _, err := syscall.Recvfrom(int(descriptor), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
}
