// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
)

const (
	// refusals is how often the API may refuse a request about the host's reset before the reset continues without it: a host that can no
	// longer authenticate has to be reset nevertheless.
	refusals = 5
	// silences is how often the API may fail to answer before the reset continues without it. With the default agent.reconciliation that
	// takes about half an hour.
	silences = 35
)

// announceReset tells the API that the host resets itself now; a host without an identity skips this. If the API answers that the host
// serves a Machine and no reset was requested, it waits.
func (a *Agent) announceReset(ctx context.Context) error {
	failed := 0
	return a.tellAsFormer(ctx, "deleting the host", func(api *client.Client) error {
		err := api.Delete(ctx)
		if err == nil || errors.Is(err, client.ErrConflict) {
			return err
		}
		if failed++; failed < silences {
			return err
		}
		a.Log.Error("Cannot report the reset to the Elemental API, resetting the host nevertheless", "error", err)
		return nil
	})
}

// acknowledgeReset tells the API that the host is wiped.
func (a *Agent) acknowledgeReset(ctx context.Context) error {
	return a.tellAsFormer(ctx, "reporting that the host is wiped", func(api *client.Client) error { return api.Wiped(ctx) })
}

// tellAsFormer repeats a request with the identity of the host that is or was reset, until it is answered or has been refused too often.
func (a *Agent) tellAsFormer(ctx context.Context, doing string, request func(*client.Client) error) error {
	directory := a.Plugin.ResetDir()
	if !identity.Exists(directory) {
		return nil
	}
	former, err := identity.Load(a.Host, directory, a.Config.Agent.Hostname)
	if err != nil {
		return err
	}
	api := a.clientOf(former)
	defer api.Close()
	refused := 0
	return a.persist(ctx, doing, func() error {
		err := request(api)
		if errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrForbidden) {
			if refused++; refused == refusals {
				a.Log.Error("The Elemental API refuses the request, continuing the reset without it", "host", former.Name, "doing", doing, "error", err)
				return nil
			}
		}
		return err
	})
}
