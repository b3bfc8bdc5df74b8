// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// handed is what a registration gives to its hosts: RegistrationConfig of api/v1beta1.
type handed struct {
	CloudConfig json.RawMessage `json:"cloudConfig"`
	Elemental   struct {
		Install      json.RawMessage     `json:"install"`
		Reset        json.RawMessage     `json:"reset"`
		Registration config.Registration `json:"registration"`
		Agent        json.RawMessage     `json:"agent"`
	} `json:"elemental"`
	// verification that images have to pass; not part of the configuration.
	verification *wire.ImageVerification
}

// Register registers the host with the Elemental API; it can be repeated. With install, identity and configuration are persisted first, and
// the OS is installed if live media are booted: live media and the recovery system lose their files at power-off, and a host that lost its
// identity would register a second time.
func (a *Agent) Register(ctx context.Context, install bool) error {
	if err := a.Plugin.Init(ctx); err != nil {
		return fmt.Errorf("initializing the OS plugin: %w", err)
	}
	api, host, err := a.connect()
	if err != nil {
		return err
	}
	defer api.Close()
	if !install {
		return a.register(ctx, api, host)
	}
	live := !a.Plugin.Installed()
	if err := a.install(ctx, api, host); err != nil {
		return err
	}
	if err := a.register(ctx, api, host); err != nil || !live {
		return err
	}
	return a.after(ctx, a.Config.Agent.PostInstall)
}

// Install installs the OS from live media, including the host's identity. On an installed host it does nothing.
func (a *Agent) Install(ctx context.Context) error {
	if err := a.Plugin.Init(ctx); err != nil {
		return fmt.Errorf("initializing the OS plugin: %w", err)
	}
	if a.Plugin.Installed() {
		return a.Plugin.Install(ctx, nil)
	}
	api, host, err := a.connect()
	if err != nil {
		return err
	}
	defer api.Close()
	if err := a.install(ctx, api, host); err != nil {
		return err
	}
	return a.after(ctx, a.Config.Agent.PostInstall)
}

// install persists the host's identity, on live media by installing the OS with it.
func (a *Agent) install(ctx context.Context, api *client.Client, host *identity.Identity) error {
	given := handed{}
	err := a.insist(ctx, "reading the registration", func() (err error) {
		given, err = readRegistration(ctx, api)
		return err
	})
	if err != nil {
		return err
	}
	if err := a.makeLast(ctx, host, given); err != nil {
		return err
	}
	if a.Plugin.Installed() {
		return a.Plugin.Install(ctx, given.Elemental.Install)
	}
	return a.withLocalImages(ctx, given.Elemental.Install, given.verification, func(options json.RawMessage) error {
		return a.Plugin.Install(ctx, options)
	})
}

// register registers the host with the API.
func (a *Agent) register(ctx context.Context, api *client.Client, host *identity.Identity) error {
	if err := a.insist(ctx, "registering the host", func() error { return api.Register(ctx) }); err != nil {
		return err
	}
	return a.markRegistered(host.Name)
}

// insist retries an action until it succeeds or fails permanently.
func (a *Agent) insist(ctx context.Context, doing string, action func() error) error {
	var final error
	err := a.persist(ctx, doing, func() error {
		err := action()
		if refused := tokenRefused(err); refused != nil {
			final = refused
			return nil
		}
		return err
	})
	return errors.Join(err, final)
}

// givenIfAny returns the registration's configuration, or nothing if it is refused: a reset that has begun continues without it.
func (a *Agent) givenIfAny(ctx context.Context, api *client.Client) (given handed, err error) {
	err = a.persist(ctx, "reading the registration", func() (err error) {
		given, err = readRegistration(ctx, api)
		if tokenRefused(err) != nil || errors.Is(err, client.ErrNotFound) {
			a.Log.Error("The registration's configuration was refused, continuing without it", "error", err)
			return nil
		}
		return err
	})
	return given, err
}

func tokenRefused(err error) error {
	if errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrForbidden) {
		return fmt.Errorf("%w; copy registration.token again from the Secret that status.tokenSecretName of the ElementalRegistration names, "+
			"it may have expired", err)
	}
	if errors.Is(err, client.ErrRefused) {
		return err
	}
	return nil
}

func readRegistration(ctx context.Context, api *client.Client) (handed, error) {
	given := handed{}
	registration, err := api.Registration(ctx)
	if err != nil {
		return given, err
	}
	given.verification = registration.ImageVerification
	if len(registration.Config) == 0 {
		return given, nil
	}
	if err := json.Unmarshal(registration.Config, &given); err != nil {
		return given, fmt.Errorf("decoding the registration's configuration: %w", err)
	}
	return given, nil
}

// makeLast persists identity and configuration beyond the file systems that the host loses at power-off.
func (a *Agent) makeLast(ctx context.Context, host *identity.Identity, given handed) error {
	if err := a.Plugin.InstallHostname(ctx, host.Name); err != nil {
		return err
	}
	if len(given.CloudConfig) > 0 {
		if err := a.Plugin.InstallCloudConfig(ctx, given.CloudConfig); err != nil {
			return err
		}
	}
	files := map[string]string{
		filepath.Join(a.workDir, identity.KeyFile):  filepath.Join(a.Config.Agent.WorkDir, identity.KeyFile),
		filepath.Join(a.workDir, identity.NameFile): filepath.Join(a.Config.Agent.WorkDir, identity.NameFile),
	}
	if a.ConfigPath != "" {
		files[a.ConfigPath] = config.DefaultPath
	}
	for from, to := range files {
		content, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("persisting %s: %w", to, err)
		}
		if err := a.Plugin.InstallFile(ctx, osplugin.File{Path: to, Mode: 0o600, Content: string(content)}); err != nil {
			return fmt.Errorf("persisting %s: %w", to, err)
		}
	}
	return nil
}

func (a *Agent) after(ctx context.Context, action config.PostAction) error {
	switch {
	case action.PowerOff:
		return a.Plugin.PowerOff(ctx)
	case action.Reboot:
		return a.Plugin.Reboot(ctx)
	}
	return nil
}
