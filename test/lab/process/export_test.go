// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

// AnotherProcess takes ports as another process does.
func AnotherProcess() (take func(count int) ([]int, error), end func()) {
	other := &ports{}
	return other.take, func() {
		for _, lease := range other.leases {
			_ = lease.Close()
		}
	}
}
