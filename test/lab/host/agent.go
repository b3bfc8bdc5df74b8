// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/units"
)

// agent is a process of the agent, in its own process group.
type agent struct {
	pid   int
	ended chan struct{}
	err   error
}

// launch starts the agent with the given arguments.
func (h *Host) launch(args []string) (*agent, error) {
	log, err := os.OpenFile(h.disk.Path(agentLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening agent log: %w", err)
	}
	cmd := exec.Command(h.opts.Agent, args...)
	cmd.Dir = h.opts.Root
	cmd.Env = h.environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownGroup()
	a := &agent{ended: make(chan struct{})}
	started := make(chan error)
	go a.run(cmd, log, started)
	return a, <-started
}

// run starts the process and waits for it in one locked thread, because Pdeathsig kills the process
// when the thread that started it exits.
func (a *agent) run(cmd *exec.Cmd, log io.Closer, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(a.ended)
	err := cmd.Start()
	if err == nil {
		a.pid = cmd.Process.Pid
	}
	started <- err
	if err == nil {
		err = cmd.Wait()
	}
	// No child of the agent outlives it, as in a systemd unit's control group.
	a.signal(syscall.SIGKILL)
	a.err = errors.Join(err, log.Close())
}

// environment of the agent and its children; nothing is inherited.
func (h *Host) environment() []string {
	path := append([]string{h.disk.Path(binDir)}, h.opts.Path...)
	env := []string{
		"PATH=" + strings.Join(path, string(os.PathListSeparator)),
		"HOME=" + h.opts.Root,
		"TMPDIR=" + h.disk.Path("/tmp"),
		double.RootEnv + "=" + h.opts.Root,
	}
	if h.opts.CABundle != "" {
		env = append(env, "SSL_CERT_FILE="+h.opts.CABundle)
	}
	return append(env, h.opts.Env...)
}

func (a *agent) signal(s syscall.Signal) {
	if a != nil && a.pid > 0 {
		_ = syscall.Kill(-a.pid, s)
	}
}

// kill kills the process group.
func (a *agent) kill() { a.signal(syscall.SIGKILL) }

// stop asks the agent to exit and kills it when it has not after the timeout.
func (a *agent) stop(ctx context.Context, timeout time.Duration) {
	if a == nil {
		return
	}
	a.signal(syscall.SIGTERM)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-a.ended:
		return
	case <-ctx.Done():
	case <-timer.C:
	}
	a.kill()
	<-a.ended
}

// startAgent starts the agent's service.
func (r *running) startAgent() {
	args := r.opts.AgentArgs
	if args == nil {
		args = append(r.service(), "--root", r.opts.Root, "--config", r.disk.Path(AgentConfig))
	}
	a, err := r.launch(args)
	if err != nil {
		r.event(AgentEnded, "%v", err)
		r.unit(units.Agent, units.Failed)
		return
	}
	r.agent = a
	r.setAgentPID(a.pid)
	r.unit(units.Agent, units.Active)
	r.event(AgentStarted, "pid %d", a.pid)
}

// service is the command line of the agent's unit; live media has another unit.
func (r *running) service() []string {
	if r.system.Mode == boot.Live {
		return []string{"register", "--install"}
	}
	return []string{"run"}
}

// agentEnded is closed when the running agent has exited; nil if none runs.
func (r *running) agentEnded() <-chan struct{} {
	if r.agent == nil {
		return nil
	}
	return r.agent.ended
}

// agentGone returns the exit error of the agent.
func (r *running) agentGone() error {
	err := r.agent.err
	r.agent = nil
	r.setAgentPID(0)
	if err == nil {
		r.event(AgentEnded, "exit code 0")
		return nil
	}
	r.event(AgentEnded, "%v", err)
	return err
}

func (h *Host) setAgentPID(pid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agentPID = pid
}
