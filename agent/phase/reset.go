// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// ResetMarkFile in the work directory marks a reset that was requested and has not been carried out.
	ResetMarkFile = "reset.json"
	// maxResetTries bounds how often a host reboots to reach its recovery system.
	maxResetTries = 5
	// maxOptionTries bounds how often the reset configuration is requested before the host is reset without it.
	maxOptionTries = 5
)

type resetMark struct {
	// Tries is how often a boot into recovery was requested.
	Tries int `json:"tries"`
	// Key is the public key of the host that is to be reset. A host has another one after it.
	Key string `json:"key,omitempty"`
}

// ResetDone reports whether the work directory is from before a reset that has been carried out: it lies on a
// partition that the reset did not format, and the host has a new key since.
func ResetDone(workDir, key string) (bool, error) {
	mark := resetMark{}
	found, err := system.ReadJSON(filepath.Join(workDir, ResetMarkFile), &mark)
	return found && mark.Key != "" && mark.Key != key, err
}

// reset boots the host into its recovery system. The mark does not survive the reset, which empties the work
// directory.
func (p *Phases) reset(ctx context.Context, request request) (bool, error) {
	if !request.desired.Reset {
		return true, nil
	}
	options, err := p.resetOptions(ctx)
	if err != nil {
		return false, err
	}
	if err := p.keepReset(options); err != nil {
		return false, err
	}
	return false, p.TriggerReset(ctx)
}

// resetOptions requests the options while the host still has its identity. Nil means those that are stored already, or the plugin's
// defaults: a host that was told to reset itself does so even if this request fails.
func (p *Phases) resetOptions(ctx context.Context) (*wire.Reset, error) {
	given, err := p.API.ResetOptions(ctx)
	if err == nil {
		return &given, nil
	}
	if p.refused++; ctx.Err() != nil || p.refused < maxOptionTries && !refuses(err) {
		return nil, err
	}
	p.Log.Error("Cannot read the reset configuration from the Elemental API, resetting the host without it", "error", err)
	return nil, nil
}

// refuses reports whether the answer of the API is permanent.
func refuses(err error) bool {
	for _, refusal := range []error{client.ErrUnauthorized, client.ErrForbidden, client.ErrNotFound, client.ErrRefused} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// keepReset stores what a reset needs where the recovery system reads it. Options that were stored at the first request are kept, even if
// the host has lost its work directory since.
func (p *Phases) keepReset(given *wire.Reset) error {
	dir, from := p.Plugin.ResetDir(), p.WorkDir
	kept, found, err := ReadKeptReset(dir)
	if err != nil {
		return err
	}
	next := KeptReset{Order: NewOrder(p.Host.Clock)}
	if found && !kept.Wiped {
		next, from = kept, dir
	}
	if given != nil {
		next.Reset = *given
	}
	return KeepReset(dir, from, next)
}

// ResetPending reports whether a reset was requested that has not been carried out. Such a host must not
// be treated as a new one.
func (p *Phases) ResetPending() (bool, error) {
	marked, err := system.ReadJSON(p.mark(ResetMarkFile), &resetMark{})
	if err != nil || marked {
		return marked, err
	}
	_, kept, err := ReadKeptReset(p.Plugin.ResetDir())
	return kept, err
}

// TriggerReset reboots the host into recovery, up to 5 times in all. Then it waits, with a message.
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
	if err := p.keepReset(nil); err != nil {
		return err
	}
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
