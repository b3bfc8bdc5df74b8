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

// lockInterval is how often it is looked whether another command has ended.
const lockInterval = 2 * time.Second

// Exclusive holds the lock that each run of the CLI inherits: one that outlives its agent keeps the next agent waiting.
func (p *Plugin) Exclusive(ctx context.Context, waiting func(reason string)) (release func(), err error) {
	for told := false; ; told = true {
		held, err := system.Lock(p.host.Path(elementalLock))
		if err == nil {
			p.held = held
			return p.release, nil
		}
		if !errors.Is(err, system.ErrLocked) {
			return nil, fmt.Errorf("keeping others from changing the OS: %w", err)
		}
		if !told {
			waiting("another installation, upgrade or reset of the OS is at work: it holds " + elementalLock)
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

// alone is Exclusive for what may be part of something that is.
func (p *Plugin) alone(ctx context.Context) (release func(), err error) {
	if p.held != nil {
		return func() {}, nil
	}
	return p.Exclusive(ctx, func(reason string) { p.log.Info("Waiting", "reason", reason) })
}
