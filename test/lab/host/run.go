// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/power"
)

// next is what follows a boot.
type next int

const (
	rebootNext next = iota
	offNext
	stopNext
)

// run runs one boot after the other.
func (h *Host) run(ctx context.Context) {
	defer close(h.done)
	for {
		switch h.boot(ctx) {
		case stopNext:
			return
		case offNext:
			if !h.waitForPower(ctx) {
				return
			}
		case rebootNext:
		}
	}
}

// waitForPower returns false if the host is stopped instead.
func (h *Host) waitForPower(ctx context.Context) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-h.power.Requests: // requested while it was still running
		case c := <-h.control:
			close(c.done)
			if c.kind == powerOn {
				return true
			}
		}
	}
}

// boot runs one boot from power-on until the host is down again.
func (h *Host) boot(ctx context.Context) next {
	system, err := boot.Firmware(h.disk)
	if err != nil {
		h.event(NothingToBoot, "%v", err)
		return offNext
	}
	h.begin(system)
	duration, ok := system.Duration()
	if !ok {
		duration = h.opts.BootTime
	}
	if then, interrupted := h.pass(ctx, duration); interrupted {
		return h.down(then)
	}
	if system.Panics() {
		h.record(func(b *Boot) { b.Outcome = Panicked })
		h.event(KernelPanicked, "snapshot %d", system.Snapshot)
		return h.down(rebootNext)
	}
	r, err := h.start(ctx, system)
	if err != nil {
		h.event(NothingToBoot, "%v", err)
		return h.down(offNext)
	}
	then := r.loop(ctx)
	r.end()
	return h.down(then)
}

// begin records what GRUB chose.
func (h *Host) begin(s boot.System) {
	h.mu.Lock()
	h.boots = append(h.boots, Boot{
		Number: len(h.boots) + 1, Entry: s.ID, Mode: s.Mode, Snapshot: s.Snapshot,
		Version: s.Image.PrettyName(), HealthCheck: s.HealthCheck, Outcome: Booting, Started: time.Now(),
	})
	h.mu.Unlock()
	h.event(GrubChose, "%s (snapshot %d)", s.ID, s.Snapshot)
}

// pass waits while nothing runs yet; the power can still be cut.
func (h *Host) pass(ctx context.Context, d time.Duration) (then next, interrupted bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return stopNext, true
		case <-timer.C:
			return 0, false
		case <-h.power.Requests: // from the previous boot
		case c := <-h.control:
			if c.kind == powerOff {
				h.event(LostPower, "while booting")
				h.isOff = c.done
				return offNext, true
			}
			close(c.done)
		}
	}
}

// down kills all processes and empties /run.
func (h *Host) down(then next) next {
	if err := boot.Down(h.disk); err != nil {
		h.event(WentDown, "%v", err)
	}
	h.record(func(b *Boot) { b.Down = time.Now() })
	h.event(WentDown, "")
	if h.isOff != nil {
		close(h.isOff)
		h.isOff = nil
	}
	return then
}

// start prepares the booted system and starts its services.
func (h *Host) start(ctx context.Context, system boot.System) (*running, error) {
	raw, err := newID()
	if err != nil {
		return nil, err
	}
	id := strings.Join([]string{raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]}, "-")
	if err := system.Up(h.disk, id); err != nil {
		return nil, fmt.Errorf("booting snapshot %d: %w", system.Snapshot, err)
	}
	if system.Mode == boot.Live {
		err = h.disk.WriteFile(AgentConfig, h.opts.Config)
	}
	if err := errors.Join(err, h.nameMachine(), os.MkdirAll(h.disk.Path("/tmp"), 0o755)); err != nil {
		return nil, fmt.Errorf("booting snapshot %d: %w", system.Snapshot, err)
	}
	console, err := os.OpenFile(h.disk.Path(consoleLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening console log: %w", err)
	}
	h.record(func(b *Boot) { b.ID, b.Outcome, b.Up = id, Up, time.Now() })
	h.event(Booted, "snapshot %d in %s mode, boot id %s", system.Snapshot, system.Mode, id)
	return newRunning(ctx, h, system, id, console), nil
}

// isReboot distinguishes a reboot from a power-off.
func isReboot(r power.Request) next {
	if r.Action == power.Off {
		return offNext
	}
	return rebootNext
}
