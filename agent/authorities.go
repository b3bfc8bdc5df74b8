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

// authoritiesInterval is how often the API is asked what it is to be known by. Both authorities have to be handed out for longer
// while one takes the other's place.
const authoritiesInterval = 12 * time.Hour

// unusableInterval is after how long it is asked again when what it handed out was not taken.
const unusableInterval = time.Hour

// followAuthorities returns a function that keeps what the host knows the API by up to date; it is called whenever there is nothing else
// to hear from the API. What the host knows stays as it is when anything fails, and the next call tries again.
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
			interval = unusableInterval // somebody has to change something first
		case err != nil && !errors.Is(err, client.ErrNotFound):
			interval = 0
		}
		if interval < authoritiesInterval {
			a.Log.Warn("What the Elemental API is known by stays as it is", "error", err)
		}
		next = a.Host.Clock.Now().Add(interval)
	}
}

// takeAuthorities puts what the API hands out in the place of what is trusted: first where it lasts, so that a host which is cut
// off in between has the same again at the next start, or still knows the API by what it knew.
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
		return fmt.Errorf("making %s last: %w", config.DefaultPath, err)
	}
	if err := system.WriteFile(a.ConfigPath, content, 0o600); err != nil {
		return err
	}
	a.Config.Registration.CACert = bundle
	a.Log.Info("The Elemental API is known by other certificate authorities from now on", "configuration", a.ConfigPath)
	if transport, is := a.Transport.(*client.Transport); is {
		return transport.Trust(a.Config)
	}
	return nil
}
