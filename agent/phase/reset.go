// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"context"
	"fmt"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// resetMarkFile says that a reset was asked for and has not been carried out.
	resetMarkFile = "reset.json"
	// maxResetTries bounds how often a host reboots in search of its recovery system.
	maxResetTries = 5
)

type resetMark struct {
	// Tries is how often recovery was asked for.
	Tries int `json:"tries"`
}

// reset sends the host to its recovery system. It does not come back from there with this mark: the
// work directory is emptied.
func (p *Phases) reset(ctx context.Context, request request) (bool, error) {
	if !request.desired.Reset {
		return true, nil
	}
	return false, p.TriggerReset(ctx)
}

// ResetPending says whether a reset was asked for that has not been carried out. Such a host must not
// be taken for a new one.
func (p *Phases) ResetPending() (bool, error) {
	return system.ReadJSON(p.mark(resetMarkFile), &resetMark{})
}

// TriggerReset reboots the host into recovery, up to 5 times in all. Then it holds, with a message.
func (p *Phases) TriggerReset(ctx context.Context) error {
	mark := resetMark{}
	if _, err := system.ReadJSON(p.mark(resetMarkFile), &mark); err != nil {
		return err
	}
	if mark.Tries >= maxResetTries {
		p.say(wire.HostTriggeringReset, fmt.Sprintf("the host was rebooted %d times to be reset, but its recovery system did not reset it: "+
			"boot it into recovery and run \"elemental-agent reset\"", mark.Tries))
		return nil
	}
	p.say(wire.HostTriggeringReset, "")
	mark.Tries++
	if err := system.WriteJSON(p.mark(resetMarkFile), mark); err != nil {
		return fmt.Errorf("storing the reset mark: %w", err)
	}
	if err := p.Plugin.TriggerReset(ctx); err != nil {
		return fmt.Errorf("triggering the reset: %w", err)
	}
	p.flush(ctx)
	return p.Plugin.Reboot(ctx)
}
