// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver

import (
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// reloaded is the parsed content of a file, which is read again whenever it changes. The file may be missing, and may appear and disappear
// at any time.
type reloaded[T any] struct {
	// what it is, for the log.
	what string
	file string
	read func() (*T, error)

	mu       sync.Mutex
	value    *T
	modified time.Time
}

// current returns nil while the file is missing. If it cannot be parsed, the error is logged and the previous content is returned: the file
// may be in the middle of a change.
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
