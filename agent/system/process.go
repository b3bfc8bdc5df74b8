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

// outputLimit is how many bytes of each output stream of a process are kept: the end, where the reason of a failure is.
const outputLimit = 32 << 10

// outputPatience is how long to wait for the end of the output of a process that has exited: a child that has left its process group, as
// daemons do, may keep it open for ever.
const outputPatience = 5 * time.Second

// unshare is util-linux's. Killing it kills its child too and, since that is the first process of its PID namespace, everything that the
// child has started. With a /proc of their own, scripts do not mistake another process for their own.
const unshare = "unshare"

var ownNamespaces = []string{"--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc", "--kill-child", "--"}

// childKilled is the error of unshare, with exit code 1, when the command was ended by SIGKILL: it cannot take that signal itself.
// Source: util-linux 2.38.1; later versions exit by the signal.
const childKilled = "unshare: sigprocmask unblock failed"

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("another process holds the lock")

// Command is a process to run.
type Command struct {
	Name string
	Args []string
	// Env is added to the agent's own environment, as "KEY=value".
	Env []string
	// Private runs the process in its own PID and mount namespace, which end with it: however the command or the agent ends, no process and
	// no mount of it remains. It requires root.
	Private bool
	// Timeout after which the command is killed. Default: never.
	Timeout time.Duration
	// Line, if set, is called with each complete line of the standard output.
	Line func(line string)
	// Held is inherited by the process and everything that it starts: its lock (see Lock) is held until the last of them has ended.
	Held *os.File
}

// String is the command line, without the environment.
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

// Run runs the command, which is killed when the agent dies: a command that outlived the agent would interfere with the one that the
// restarted agent runs. When the context ends, its children are killed too.
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
		err = nil // it succeeded, and left a child behind that keeps its output open
	}
	result := Result{Stdout: stdout.String(), Stderr: stderr.String()}
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	if limited.Err() != nil {
		return result, fmt.Errorf("running %q: it was killed after the timeout of %s", command, command.Timeout)
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

// codeOf returns the exit code of a command that failed.
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

// lines calls a function with each complete line that is written to it.
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

// tail keeps the end of what is written to it. The buffer is not embedded: io.Copy would use its ReadFrom, which keeps everything.
type tail struct{ buffer bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	written, err := t.buffer.Write(p)
	if excess := t.buffer.Len() - outputLimit; excess > 0 {
		t.buffer.Next(excess)
	}
	return written, err
}

func (t *tail) String() string { return t.buffer.String() }
