// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// endLeft ends the processes whose environment has an entry: what tests have left that took too long. Go ends these at once, and their API
// servers would slow down all that follow. There are none to be found where there is no /proc.
func endLeft(entry string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		environment, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+entry+"\x00")) {
			continue // it has ended, or is another user's
		}
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
}
