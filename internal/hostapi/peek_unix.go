// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package hostapi

import (
	"errors"
	"syscall"
)

// canPeek says whether a socket can be looked at without a read.
const canPeek = true

// somethingToRead looks whether a socket has data, or its end, without taking anything out.
func somethingToRead(descriptor uintptr) bool {
	var one [1]byte
	_, _, err := syscall.Recvfrom(int(descriptor), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
}
