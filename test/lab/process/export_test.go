// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

// FirstPort and LastPort are the limits of the port range.
const (
	FirstPort = firstPort
	LastPort  = lastPort
)

// AnotherProcess allocates ports from first to last as another process would.
func AnotherProcess(first, last int) (take func(count int) ([]int, error), end func()) {
	other := &ports{first: first, last: last}
	return other.take, func() {
		for _, lease := range other.leases {
			_ = lease.Close()
		}
	}
}
