// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// lockInterval is how often the lock is tried while another command holds it.
const lockInterval = 2 * time.Second

// Exclusive takes the lock that each run of the CLI inherits: a run that outlives its agent makes the next agent wait.
func (p *Plugin) Exclusive(ctx context.Context, waiting func(reason string)) (release func(), err error) {
	for told := false; ; told = true {
		held, err := system.Lock(p.host.Path(elementalLock))
		if err == nil {
			p.held = held
			return p.release, nil
		}
		if !errors.Is(err, system.ErrLocked) {
			return nil, fmt.Errorf("locking the OS: %w", err)
		}
		if !told {
			waiting("another installation, upgrade or reset of the OS is running: it holds " + elementalLock)
		}
		if err := system.Wait(ctx, p.host.Clock, lockInterval); err != nil {
			return nil, err
		}
	}
}

func (p *Plugin) release() {
	_ = p.held.Close()
	p.held = nil
}

// alone takes the lock, unless Exclusive already holds it.
func (p *Plugin) alone(ctx context.Context) (release func(), err error) {
	if p.held != nil {
		return func() {}, nil
	}
	return p.Exclusive(ctx, func(reason string) { p.log.Info("Waiting", "reason", reason) })
}
