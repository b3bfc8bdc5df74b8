// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// units is a directory with a file for each unit, which has its state.
const units = "/run/units"

func set(unit, state string) {
	_ = os.MkdirAll(units, 0o755)
	path := filepath.Join(units, unit)
	_ = os.WriteFile(path+".new", []byte(state), 0o644)
	_ = os.Rename(path+".new", path)
}

// systemctl is that part of it which the agent and "elemental init" use.
func systemctl(args []string) error {
	switch args[0] {
	case "is-active":
		for _, unit := range args[1:] {
			state, err := os.ReadFile(filepath.Join(units, unit))
			if err != nil {
				state = []byte("inactive")
			}
			fmt.Println(string(state))
		}
	case "list-units":
		listFailed()
	case "reboot":
		return goDownBy(unix.SIGTERM, unix.LINUX_REBOOT_CMD_RESTART, args)
	case "poweroff":
		return goDownBy(unix.SIGUSR1, unix.LINUX_REBOOT_CMD_POWER_OFF, args)
	}
	return nil
}

func listFailed() {
	files, _ := filepath.Glob(units + "/*.service")
	for _, file := range files {
		if state, _ := os.ReadFile(file); string(state) == "failed" {
			fmt.Println(filepath.Base(file), "loaded failed failed A unit")
		}
	}
}

// goDownBy asks init to go down; with --force the machine goes down at once.
func goDownBy(order syscall.Signal, command int, args []string) error {
	if slices.Contains(args, "--force") {
		unix.Sync()
		return unix.Reboot(command)
	}
	return unix.Kill(1, order)
}

// elemental runs the CLI, and says when it writes an image. It returns the exit code.
func elemental() int {
	upgrades := slices.Contains(os.Args, "upgrade")
	if upgrades {
		tell("the CLI begins")
	}
	cli := exec.Command("/usr/lib/elemental/elemental", os.Args[1:]...)
	cli.Stdin, cli.Stdout, cli.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cli.Run()
	if upgrades {
		tell("the CLI has ended: %v", err)
	}
	if err != nil {
		return max(cli.ProcessState.ExitCode(), 1)
	}
	return 0
}
