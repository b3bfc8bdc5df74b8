// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"os/exec"
	"syscall"
)

func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// ownGroup has the children of a process ended with it when its context ends. One that has a PID namespace needs no group.
func ownGroup(process *exec.Cmd) {
	process.SysProcAttr.Setpgid = true
	process.Cancel = func() error {
		// It has not been waited for, so that nobody else has its number.
		return syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
	}
}
