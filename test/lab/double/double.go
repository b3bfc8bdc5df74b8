// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/calls"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
)

// RootEnv is the variable with the root directory of the host. Without it no command runs.
const RootEnv = "LAB_HOST_ROOT"

// Call is the invocation of a command.
type Call struct {
	// Argv begins with the name of the command.
	Argv []string
	// Environ is the environment, as of os.Environ.
	Environ []string
	Disk    disk.Disk
	Stdout  io.Writer
	Stderr  io.Writer
	// Now is the clock.
	Now func() time.Time
}

// command runs a call and returns its exit code.
type command func(ctx context.Context, c *Call) int

func commands() map[string]command {
	return map[string]command{
		"elemental":     elemental,
		"systemctl":     systemctl,
		"reboot":        powerCommand,
		"poweroff":      powerCommand,
		"halt":          powerCommand,
		"shutdown":      shutdown,
		"grub2-editenv": editenv,
		"grub-editenv":  editenv,
		"losetup":       losetup,
		"df":            df,
		"mount":         mount,
		"umount":        umount,
	}
}

// Names are the names of all commands, sorted.
func Names() []string {
	var names []string
	for name := range commands() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Is reports whether argv0 is the name of one of the commands.
func Is(argv0 string) bool {
	return slices.Contains(Names(), filepath.Base(argv0))
}

// Link creates dir with a symlink to the multi-call binary for each command.
func Link(binary, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("linking commands: %w", err)
	}
	for _, name := range Names() {
		link := filepath.Join(dir, name)
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("linking commands: %w", err)
		}
		if err := os.Symlink(binary, link); err != nil {
			return fmt.Errorf("linking commands: %w", err)
		}
	}
	return nil
}

// Main runs the command that this process was called as and returns its exit code.
func Main() int {
	root := os.Getenv(RootEnv)
	if root == "" {
		fmt.Fprintf(os.Stderr, "%s is not set: this is a command of a lab host and runs nowhere else\n", RootEnv)
		return 2
	}
	argv := slices.Clone(os.Args)
	argv[0] = filepath.Base(argv[0])
	return Run(context.Background(), &Call{
		Argv:    argv,
		Environ: os.Environ(),
		Disk:    disk.Disk(root),
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Now:     time.Now,
	})
}

// Run runs a command, logs the call and returns its exit code. A test may block it before and after.
func Run(ctx context.Context, c *Call) int {
	run, ok := commands()[c.Argv[0]]
	if !ok {
		return c.fail(127, "%s: command not found on a lab host", c.Argv[0])
	}
	if err := rendezvous.Meet(string(c.Disk), rendezvous.Moment{Argv: c.Argv}); err != nil {
		return c.fail(2, "%v", err)
	}
	logged, err := calls.Begin(string(c.Disk), c.Argv, c.Environ, c.Now())
	if err != nil {
		return c.fail(2, "logging call: %v", err)
	}
	rc := run(ctx, c)
	if err := calls.Finish(string(c.Disk), logged, rc, c.Now()); err != nil {
		return c.fail(2, "logging call: %v", err)
	}
	if err := rendezvous.Meet(string(c.Disk), rendezvous.Moment{Argv: c.Argv, Done: true}); err != nil {
		return c.fail(2, "%v", err)
	}
	return rc
}

// fail prints a message to standard error and returns the exit code.
func (c *Call) fail(rc int, format string, args ...any) int {
	_, _ = fmt.Fprintf(c.Stderr, format+"\n", args...)
	return rc
}

func (c *Call) print(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Stdout, format, args...)
}
