// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"os"
	"syscall"
)

// ownGroup gives a process a group of its own, in which its children are, and ends it with this process.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends a process that has a group of its own, and its children.
func killGroup(leader *os.Process) error {
	// Of ours alone: it has not been waited for, so that nobody else has its number.
	return syscall.Kill(-leader.Pid, syscall.SIGKILL)
}
