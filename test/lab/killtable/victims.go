// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package killtable

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
)

// victims are the processes that are killed.
type victims struct {
	lab  *lab.Lab
	host *lab.Host

	mu sync.Mutex
	// ready reports that the running manager has been ready.
	ready bool
	// acted is the process ID of the agent that has called a command.
	acted int
	died  map[victim]time.Time
	err   error
}

func newVictims(l *lab.Lab, host *lab.Host) *victims {
	return &victims{lab: l, host: host, ready: true, died: map[victim]time.Time{}}
}

// agentActs records that the agent is working.
func (v *victims) agentActs() {
	pid := v.host.AgentPID()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.acted = pid
}

// startup is how long an agent takes to begin to wait for the desired state of its host.
const startup = time.Second

// isUp reports whether the victim has started. An agent whose host has nothing to do calls no command until the manager asks for
// something, which may be the very write that waits here.
func (v *victims) isUp(who victim) bool {
	pid := v.host.AgentPID()
	v.mu.Lock()
	defer v.mu.Unlock()
	if who == manager {
		return v.ready
	}
	return pid != 0 && exists(pid) && (v.acted == pid || age(pid) > startup)
}

// age of a process; zero if it is gone.
func age(pid int) time.Duration {
	started, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return 0
	}
	return time.Since(started.ModTime())
}

// isDead reports whether what the victim began at that time belongs to a dead process.
func (v *victims) isDead(who victim, since time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return since.Before(v.died[who])
}

// kill returns when the victim is dead. It is restarted.
func (v *victims) kill(ctx context.Context, who victim) error {
	defer v.bury(who)
	if who == agent {
		return v.killAgent(ctx)
	}
	v.mu.Lock()
	v.ready = false
	v.mu.Unlock()
	v.lab.Provider.Process.Kill()
	go v.restartManager(context.WithoutCancel(ctx))
	return nil
}

func (v *victims) bury(who victim) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.died[who] = time.Now()
}

func (v *victims) restartManager(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := v.lab.Provider.Process.Restart()
	if err == nil {
		err = v.lab.Provider.AwaitReady(ctx)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ready, v.err = err == nil, err
}

func (v *victims) killAgent(ctx context.Context) error {
	pid := v.host.AgentPID()
	if err := v.host.KillAgent(ctx); err != nil {
		return fmt.Errorf("killing the agent: %w", err)
	}
	return await(ctx, func() bool { return !exists(pid) })
}

func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// await polls until the condition holds.
func await(ctx context.Context, holds func() bool) error {
	ticker := time.NewTicker(blink)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}
