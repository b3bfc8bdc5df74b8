// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command guest is what a virtual machine of test/boot runs besides the agent and the elemental CLI's own program, by the name under which it is called: the
// init of the initramfs, the init of the OS, which plays systemd, that part of systemctl which the agent uses, and "elemental", which runs the CLI and tells when. Where systemd is the init it is the unit lab-network alone. It is static, and writes what
// the suite waits for to the console, in lines that begin with marker.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// marker begins each line for the suite.
const marker = "GUEST: "

func main() {
	programs := map[string]func() error{
		"init": initramfs, "os-init": system, "systemctl": func() error { return systemctl(os.Args[1:]) },
		"lab-network": network,
	}
	name := filepath.Base(os.Args[0])
	if name == "elemental" {
		os.Exit(elemental())
	}
	err := programs[name]()
	if err != nil {
		tell("failed: %s: %v", os.Args[0], err)
		os.Exit(1) // as PID 1 this makes the kernel panic
	}
}

// tell writes a line for the suite to the console: the agent reads what the CLI prints.
func tell(format string, args ...any) {
	console, err := os.OpenFile("/dev/console", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer func() { _ = console.Close() }()
	_, _ = fmt.Fprintf(console, marker+format+"\n", args...)
}
