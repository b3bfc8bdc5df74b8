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

// ownGroup has the children of a process ended with it when its context ends. One that has a PID namespace needs no group.
func ownGroup(process *exec.Cmd) {
	process.SysProcAttr.Setpgid = true
	process.Cancel = func() error {
		// It has not been waited for, so that nobody else has its number.
		return syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
	}
}

// Lock takes a file for the caller and for whoever inherits it, or fails with ErrLocked. It belongs to the open file: closed here, it
// is held by the others.
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
