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
	// refusals are how often the API may refuse what a host says about its reset before that goes on without
	// it: a host that cannot prove any more who it is has to be reset all the same.
	refusals = 5
	// silences are how often the API may fail to answer before a host is reset that it does not know to be reset. With the
	// default agent.reconciliation they take about half an hour.
	silences = 35
)

// announceReset tells the API that the host resets itself now. A host without an identity has nothing to tell. An API that
// says that the host serves a machine, and was not asked for this, is waited for.
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
		a.Log.Error("The Elemental API cannot be told that the host is reset; it is reset all the same", "error", err)
		return nil
	})
}

// acknowledgeReset tells the API that nothing is left of what the host was.
func (a *Agent) acknowledgeReset(ctx context.Context) error {
	return a.tellAsFormer(ctx, "reporting that the host is wiped", func(api *client.Client) error { return api.Wiped(ctx) })
}

// tellAsFormer repeats a request, as the host that is or was reset, until it is answered or refused again and again.
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
				a.Log.Error("The Elemental API refuses to hear of the reset, which goes on all the same", "host", former.Name, "doing", doing, "error", err)
				return nil
			}
		}
		return err
	})
}
