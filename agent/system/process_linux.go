// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// ownGroup makes the end of the context kill the children of a process too. A process in its own PID namespace needs no group.
func ownGroup(process *exec.Cmd) {
	process.SysProcAttr.Setpgid = true
	process.Cancel = func() error {
		// The process has not been waited for, so its PID cannot have been reused.
		return syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
	}
}

// Lock locks a file for the caller and all who inherit it, or fails with ErrLocked. The lock belongs to the open file: after the caller
// closes it, the others still hold it.
func Lock(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
