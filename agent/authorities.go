// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// authoritiesInterval is how often the API is asked for its certificate authorities. When an authority is replaced, both have to be
// published for longer than this.
const authoritiesInterval = 12 * time.Hour

// unusableInterval is the interval after the API published authorities that cannot be used.
const unusableInterval = time.Hour

// followAuthorities returns a function that keeps the trusted authorities of the API up to date. The loop calls it whenever the API has
// nothing new. If anything fails, the trusted authorities stay as they are, and the next call tries again.
func (a *Agent) followAuthorities(api *client.Client) func(context.Context) {
	var next time.Time
	return func(ctx context.Context) {
		if a.Config.Registration.CACert == "" || a.ConfigPath == "" || a.Host.Clock.Now().Before(next) {
			return
		}
		err := a.takeAuthorities(ctx, api)
		interval := authoritiesInterval
		switch {
		case errors.Is(err, client.ErrUnusableAuthorities):
			interval = unusableInterval // an operator has to correct them first
		case err != nil && !errors.Is(err, client.ErrNotFound):
			interval = 0
		}
		if interval < authoritiesInterval {
			a.Log.Warn("Keeping the trusted certificate authorities of the Elemental API", "error", err)
		}
		next = a.Host.Clock.Now().Add(interval)
	}
}

// takeAuthorities replaces the trusted authorities by the published ones, first in the persistent copy: a host that is cut off in between
// then either has the new ones at the next start, or still trusts the old ones.
func (a *Agent) takeAuthorities(ctx context.Context, api *client.Client) error {
	bundle, err := api.Authorities(ctx)
	if err != nil || bundle == a.Config.Registration.CACert {
		return err
	}
	content, err := config.WithCACert(a.ConfigPath, bundle)
	if err != nil {
		return err
	}
	if err := a.Plugin.InstallFile(ctx, osplugin.File{Path: config.DefaultPath, Mode: 0o600, Content: string(content)}); err != nil {
		return fmt.Errorf("persisting %s: %w", config.DefaultPath, err)
	}
	if err := system.WriteFile(a.ConfigPath, content, 0o600); err != nil {
		return err
	}
	a.Config.Registration.CACert = bundle
	a.Log.Info("Replaced the trusted certificate authorities of the Elemental API", "configuration", a.ConfigPath)
	if transport, is := a.Transport.(*client.Transport); is {
		return transport.Trust(a.Config)
	}
	return nil
}
