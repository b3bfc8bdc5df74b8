// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// stopGrace is how long a process may take to exit after SIGTERM.
const stopGrace = 10 * time.Second

// Spec of a process to run.
type Spec struct {
	// Name of the process, also of its log file.
	Name string
	// Path of the binary, and its arguments.
	Path string
	Args []string
	// Env is added to the environment.
	Env []string
	// LogDir is where <Name>.log is written.
	LogDir string
	// Died is called when the child exits without having been stopped or killed. Default: none.
	Died func(failure error)
}

// Process is a running child.
type Process struct {
	spec Spec

	mu      sync.Mutex
	command *exec.Cmd
	done    chan struct{}
	err     error
	// ending reports that the child was stopped or killed on purpose.
	ending bool
}

// Start starts a child. Its output is appended to its log file.
func Start(spec Spec) (*Process, error) {
	p := &Process{spec: spec}
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Process) start() error {
	log, err := os.OpenFile(p.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.spec.Name, err)
	}
	command := exec.Command(p.spec.Path, p.spec.Args...)
	command.Env = append(os.Environ(), p.spec.Env...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = attributes()
	if err := startChild(command); err != nil {
		_ = log.Close()
		return fmt.Errorf("starting %s: %w", p.spec.Name, err)
	}
	done := make(chan struct{})
	p.mu.Lock()
	p.command, p.done, p.ending = command, done, false
	p.mu.Unlock()
	go p.watch(command, log, done)
	return nil
}

// watch waits for the exit of a child.
func (p *Process) watch(command *exec.Cmd, log *os.File, done chan<- struct{}) {
	err := command.Wait()
	_ = log.Close()
	p.mu.Lock()
	p.err = err
	died := !p.ending
	p.mu.Unlock()
	close(done)
	if died && p.spec.Died != nil {
		p.spec.Died(p.Failure())
	}
}

// Name of the process.
func (p *Process) Name() string { return p.spec.Name }

// LogFile is where the output goes.
func (p *Process) LogFile() string { return filepath.Join(p.spec.LogDir, p.spec.Name+".log") }

// PID of the child.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.command.Process.Pid
}

// Exited is closed when the child has ended.
func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Failure describes why a child exited unexpectedly, with the end of its log.
func (p *Process) Failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s ended by itself (%w); the end of %s:\n%s", p.spec.Name, errOrZero(p.err), p.LogFile(), Tail(p.LogFile()))
}

func errOrZero(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Stop sends SIGTERM to the child, and kills it if it does not exit.
func (p *Process) Stop() {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.Exited():
	case <-timer.C:
		p.Kill()
	}
}

// Kill kills the child, as a power cut would, and waits until it has exited.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.Exited()
}

// Freeze stops the child until Thaw: it misses all its deadlines, like a process on a machine that hangs. A child
// that then exits because it missed one has not exited unexpectedly.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw lets a frozen child continue.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

// Result of a child that has exited: nil if its exit code was 0.
func (p *Process) Result() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Restart starts the child again after it has exited.
func (p *Process) Restart() error {
	select {
	case <-p.Exited():
		return p.start()
	default:
		return fmt.Errorf("restarting %s: it is still running", p.spec.Name)
	}
}

// SetEnv replaces what is added to the environment, from the next Restart on.
func (p *Process) SetEnv(env []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spec.Env = env
}

func (p *Process) signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = true
	_ = p.command.Process.Signal(signal) // it may have exited already
}

// Tail returns the last lines of a file.
func Tail(file string) string {
	const size = 4 << 10
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-size):])
}
