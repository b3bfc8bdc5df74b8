// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// outputLimit is how many bytes of each output stream of a process are kept: its end, where the
// reason of a failure is.
const outputLimit = 32 << 10

// outputPatience is how long the output of a process that has ended is waited for: a child of it that has left its group, as daemons
// do, may hold it for ever.
const outputPatience = 5 * time.Second

// unshare is util-linux's. Its child is killed with it, and with that child, which is the first of its PID namespace, all that
// it has started. A /proc of their own keeps scripts from taking another process for themselves.
const unshare = "unshare"

var ownNamespaces = []string{"--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc", "--kill-child", "--"}

// childKilled is what unshare says, with exit code 1, when the command was ended by SIGKILL: it cannot take that signal itself.
// Source: util-linux 2.38.1; later ones end by the signal.
const childKilled = "unshare: sigprocmask unblock failed"

// ErrLocked says that somebody else holds what is to be locked.
var ErrLocked = errors.New("somebody else holds it")

// Command is a process to run.
type Command struct {
	Name string
	Args []string
	// Env is added to the agent's own environment, as "KEY=value".
	Env []string
	// Private gives the process a PID and a mount namespace of its own, which end with it: whatever ends the command, or the
	// agent, leaves no process and no mount of it. It needs root.
	Private bool
	// Timeout is after how long the command is killed. Default: never.
	Timeout time.Duration
	// Line is called with each line of the standard output when it is complete. Default: nobody is.
	Line func(line string)
	// Held is inherited by the process and all that it starts: what is locked by it (Lock) stays so until the last of them has ended.
	Held *os.File
}

// String is the command as one would type it, without the environment.
func (c Command) String() string { return strings.Join(append([]string{c.Name}, c.Args...), " ") }

// Result is how a process ended.
type Result struct {
	// Stdout and Stderr hold the last 32 KiB of each stream.
	Stdout string
	Stderr string
	// ExitCode is -1 when the process was ended by a signal.
	ExitCode int
}

// Runner starts processes and waits for them.
type Runner interface {
	// Run returns an error only if the process could not be started or the context ended; an exit code
	// that is not zero is a Result.
	Run(ctx context.Context, command Command) (Result, error)
}

// Processes runs real processes.
type Processes struct{}

// Run starts the command, which dies with the agent: a command that outlived a killed agent would
// work against the one that the restarted agent starts. Its children die with it when the context ends.
func (Processes) Run(ctx context.Context, command Command) (Result, error) {
	// The kernel delivers the parent-death signal when the starting *thread* ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	limited, cancel := ctx, context.CancelFunc(func() {})
	if command.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, command.Timeout)
	}
	defer cancel()

	stdout, stderr := &tail{}, &tail{}
	name, args := command.Name, command.Args
	if command.Private {
		name, args = unshare, slices.Concat(ownNamespaces, []string{name}, args)
	}
	process := exec.CommandContext(limited, name, args...)
	process.Env = append(os.Environ(), command.Env...)
	process.Stdout, process.Stderr = stdout, stderr
	if command.Line != nil {
		process.Stdout = io.MultiWriter(stdout, &lines{call: command.Line})
	}
	process.SysProcAttr = dieWithParent()
	if !command.Private {
		ownGroup(process)
	}
	process.WaitDelay = outputPatience
	if command.Held != nil {
		process.ExtraFiles = []*os.File{command.Held}
	}
	err := process.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has ended well, and left somebody behind who holds its output
	}
	result := Result{Stdout: stdout.String(), Stderr: stderr.String()}
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	if limited.Err() != nil {
		return result, fmt.Errorf("running %q: it was killed, since it did not end in %s", command, command.Timeout)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		result.ExitCode = codeOf(command, exit, result.Stderr)
		return result, nil
	}
	if err != nil {
		return result, fmt.Errorf("running %q: %w", command, err)
	}
	return result, nil
}

// codeOf a command that has not succeeded.
func codeOf(command Command, exit *exec.ExitError, stderr string) int {
	if command.Private && strings.HasPrefix(LastLine(stderr), childKilled) {
		return -1
	}
	return exit.ExitCode()
}

// Check runs a command by its name that has to succeed; see CheckCommand.
func Check(ctx context.Context, runner Runner, name string, args ...string) (string, error) {
	return CheckCommand(ctx, runner, Command{Name: name, Args: args})
}

// CheckCommand runs a command that has to succeed; the error carries the last line it wrote.
func CheckCommand(ctx context.Context, runner Runner, command Command) (string, error) {
	result, err := runner.Run(ctx, command)
	if err != nil {
		return "", err
	}
	if result.ExitCode != 0 {
		return result.Stdout, fmt.Errorf("running %q: exit code %d: %s", command, result.ExitCode, LastLine(result.Stderr))
	}
	return result.Stdout, nil
}

// LastLine returns the last line of text that is not empty.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// lines calls somebody with each whole line that is written to it.
type lines struct {
	call func(string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.call(string(line))
		l.rest = rest
	}
}

// tail keeps the end of what is written to it. The buffer is not embedded: its ReadFrom would take in
// everything.
type tail struct{ buffer bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	written, err := t.buffer.Write(p)
	if excess := t.buffer.Len() - outputLimit; excess > 0 {
		t.buffer.Next(excess)
	}
	return written, err
}

func (t *tail) String() string { return t.buffer.String() }
