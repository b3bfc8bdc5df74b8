// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"reflect"
	"sync"
)

// memory is what residents remember of a workload cluster, by its type.
type memory struct{ each sync.Map }

// Remembered is what a resident remembers of a workload cluster for as long as that is connected. It has to be safe for
// concurrent use, and is told from what others remember by its type.
func Remembered[T any](c *Cluster, first func() *T) *T {
	of := reflect.TypeFor[T]()
	known, found := c.memory.each.Load(of)
	if !found {
		known, _ = c.memory.each.LoadOrStore(of, first())
	}
	return known.(*T)
}
