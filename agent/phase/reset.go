// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// ResetMarkFile in the work directory says that a reset was asked for and has not been carried out.
	ResetMarkFile = "reset.json"
	// maxResetTries bounds how often a host reboots in search of its recovery system.
	maxResetTries = 5
)

type resetMark struct {
	// Tries is how often recovery was asked for.
	Tries int `json:"tries"`
	// Key is the public key of the host that is to be reset. A host has another one after it.
	Key string `json:"key,omitempty"`
}

// ResetDone says whether the work directory is from before a reset that has been carried out: it lies on a
// partition that the reset did not format, and the host has a new key since.
func ResetDone(workDir, key string) (bool, error) {
	mark := resetMark{}
	found, err := system.ReadJSON(filepath.Join(workDir, ResetMarkFile), &mark)
	return found && mark.Key != "" && mark.Key != key, err
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
	return system.ReadJSON(p.mark(ResetMarkFile), &resetMark{})
}

// TriggerReset reboots the host into recovery, up to 5 times in all. Then it holds, with a message.
func (p *Phases) TriggerReset(ctx context.Context) error {
	mark := resetMark{}
	if _, err := system.ReadJSON(p.mark(ResetMarkFile), &mark); err != nil {
		return err
	}
	if mark.Tries >= maxResetTries {
		p.say(wire.HostTriggeringReset, fmt.Sprintf("the host was rebooted %d times to be reset, but its recovery system did not reset it: "+
			"boot it into recovery and run \"elemental-agent reset\"", mark.Tries))
		return nil
	}
	p.say(wire.HostTriggeringReset, "")
	mark.Tries++
	mark.Key = p.Key
	if err := system.WriteJSON(p.mark(ResetMarkFile), mark); err != nil {
		return fmt.Errorf("storing the reset mark: %w", err)
	}
	if err := p.Plugin.TriggerReset(ctx); err != nil {
		return fmt.Errorf("triggering the reset: %w", err)
	}
	p.flush(ctx)
	return p.Plugin.Reboot(ctx)
}
