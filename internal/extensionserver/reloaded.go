// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver

import (
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// reloaded is what a file says, read again whenever the file has changed. The file may not be there yet, come later, and go
// again.
type reloaded[T any] struct {
	// what it is, for the log.
	what string
	file string
	read func() (*T, error)

	mu       sync.Mutex
	value    *T
	modified time.Time
}

// current is nil while there is no file. One that cannot be read is logged, and its predecessor stays: it may be in the middle
// of a change.
func (r *reloaded[T]) current() *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(r.file)
	if err != nil {
		r.value = nil
		return nil
	}
	if r.value != nil && info.ModTime().Equal(r.modified) {
		return r.value
	}
	value, err := r.read()
	if err != nil {
		klog.Background().Error(err, "Failed to read "+r.what)
		return r.value
	}
	r.value, r.modified = value, info.ModTime()
	return value
}
