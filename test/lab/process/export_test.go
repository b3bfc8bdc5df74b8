// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

// FirstPort and LastPort that there are.
const (
	FirstPort = firstPort
	LastPort  = lastPort
)

// AnotherProcess takes ports, of those from first to last, as another process does.
func AnotherProcess(first, last int) (take func(count int) ([]int, error), end func()) {
	other := &ports{first: first, last: last}
	return other.take, func() {
		for _, lease := range other.leases {
			_ = lease.Close()
		}
	}
}
