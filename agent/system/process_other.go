// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package system

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Only Linux can kill a process with its parent; the agent runs nowhere else.
func dieWithParent() *syscall.SysProcAttr { return nil }

func ownGroup(*exec.Cmd) {}

// Lock needs Linux; the agent runs nowhere else.
func Lock(string) (*os.File, error) { return nil, errors.ErrUnsupported }
