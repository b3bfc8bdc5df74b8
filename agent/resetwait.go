// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/loop"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/report"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// betweenAnswers is the minimum time between two requests for the desired state while a host waits for a new reset request.
const betweenAnswers = time.Second

// awaitOrder keeps a host that could not be reset in its recovery system: there may be nothing else to boot, and the same reset would fail
// again. It reports the reason and returns when the reset is requested again.
func (a *Agent) awaitOrder(ctx context.Context, tries *phase.ResetTries) error {
	message := a.exhausted(tries)
	a.Log.Error(message)
	directory := a.Plugin.ResetDir()
	if !identity.Exists(directory) {
		return a.idle(ctx, "the host has no identity to report with")
	}
	former, err := identity.Load(a.Host, directory, a.Config.Agent.Hostname)
	if err != nil {
		return err
	}
	api := a.clientOf(former)
	defer api.Close()
	phases, board, err := a.phases(api, former)
	if err != nil {
		return err
	}
	if _, err := phases.Observe(ctx); err != nil {
		a.Log.Warn("Observing the recovery system failed", "error", err)
	}
	board.Update(func(r *wire.Report) { r.Phase, r.Message = wire.HostResetting, message })
	return a.reportUntilOrdered(ctx, api, board, tries)
}

func (a *Agent) exhausted(tries *phase.ResetTries) string {
	return fmt.Sprintf("the OS could not be reset in %d tries, the last of which failed: %s. The host stays in its recovery system: fix what is "+
		"wrong, then set the label needs-reset of its ElementalHost to \"false\" and to \"true\" again, or run \"elemental-agent reset --again --config %s\" on it",
		tries.Count, cmp.Or(tries.Reason, "it was cut off"), a.ConfigPath)
}

func (a *Agent) reportUntilOrdered(ctx context.Context, api *client.Client, board *report.Board, tries *phase.ResetTries) error {
	ctx, ordered := context.WithCancel(ctx)
	defer ordered()
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error { return ignoring(within, board.Run(within)) })
	group.Go(func() error {
		defer ordered()
		return a.pollOrder(within, api, board, tries)
	})
	return group.Wait()
}

// ignoring drops errors, except when the context has ended.
func ignoring(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pollOrder returns when the API requests a reset that it did not request before; after any other answer it polls again.
func (a *Agent) pollOrder(ctx context.Context, api *client.Client, board *report.Board, tries *phase.ResetTries) error {
	revision, failures := "", 0
	for {
		desired, changed, err := api.Desired(ctx, revision, cmp.Or(a.Wait, loop.DefaultWait))
		delay := betweenAnswers
		switch {
		case err != nil:
			failures++
			revision, delay = "", a.policy().DelayAfter(err, failures)
			a.Log.Warn("Polling for a new reset request failed, trying again", "error", err, "failures", failures)
		case changed:
			revision, failures = desired.Revision, 0
			if desired.Unreported {
				board.Again()
			}
			ordered, err := tries.Desire(desired.Reset)
			if err != nil || ordered {
				return err
			}
		}
		if err := system.Wait(ctx, a.Host.Clock, delay); err != nil {
			return err
		}
	}
}
