// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// refusals are how often the API may refuse the deletion of a host before the reset goes on without
// it: a host that cannot prove any more who it is has to be reset all the same.
const refusals = 5

// Reset brings the host back to its factory state and registers it anew; see the package comment. It is
// called in recovery and can be called again if it was cut off.
func (a *Agent) Reset(ctx context.Context) error {
	if err := a.Plugin.Init(ctx); err != nil {
		return fmt.Errorf("initializing the OS plugin: %w", err)
	}
	if err := a.deleteHost(ctx); err != nil {
		return err
	}
	options, err := a.resetOptions(ctx)
	if err != nil {
		return err
	}
	if err := a.resetOS(ctx, options); err != nil {
		return err
	}
	// The reset of the OS may or may not have formatted the partition.
	if err := a.clearWorkDir(); err != nil {
		return err
	}
	if err := a.Register(ctx, true); err != nil {
		return err
	}
	return a.after(ctx, a.Config.Agent.PostReset)
}

// deleteHost tells the API. A host without an identity has nothing to delete.
func (a *Agent) deleteHost(ctx context.Context) error {
	directory := a.identityDir()
	if directory == "" {
		return nil
	}
	host, err := identity.Load(a.Host, directory, a.Config.Agent.Hostname)
	if err != nil {
		return err
	}
	api := a.clientOf(host)
	defer api.Close()
	refused := 0
	return a.persist(ctx, "deleting the host", func() error {
		err := api.Delete(ctx)
		if errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrForbidden) {
			if refused++; refused == refusals {
				a.Log.Error("The Elemental API refuses to delete the host; it is reset all the same", "host", host.Name, "error", err)
				return nil
			}
		}
		return err
	})
}

// identityDir is the work directory or, in a recovery system that does not have it, where the
// configuration was kept. Empty when the host has no identity.
func (a *Agent) identityDir() string {
	for _, directory := range []string{a.workDir, filepath.Dir(a.ConfigPath)} {
		if identity.Exists(directory) {
			return directory
		}
	}
	return ""
}

func (a *Agent) resetOptions(ctx context.Context) ([]byte, error) {
	// The registration needs no identity, and making one now would be too early.
	api := a.clientOf(nil)
	defer api.Close()
	given := handed{}
	err := a.persist(ctx, "reading the registration", func() (err error) {
		given, err = readRegistration(ctx, api)
		return err
	})
	return given.Elemental.Reset, err
}

func (a *Agent) resetOS(ctx context.Context, options []byte) error {
	var final error
	err := a.persist(ctx, "resetting the OS", func() error {
		err := a.Plugin.Reset(ctx, options)
		if errors.Is(err, osplugin.ErrUnsupported) {
			final = err
			return nil
		}
		return err
	})
	return errors.Join(err, final)
}

// forgetFormerLife notices a reset that left the partition of the work directory as it was: a registration
// may ask for that. Only who the host is now is kept.
func (a *Agent) forgetFormerLife(host *identity.Identity) error {
	key, err := host.PublicKey()
	if err != nil {
		return err
	}
	done, err := phase.ResetDone(a.workDir, key)
	if err != nil || !done {
		return err
	}
	a.Log.Info("The host was reset, forgetting what it was before")
	// The mark goes last: cut off before, this is done again.
	if err := a.clearWorkDir(identity.KeyFile, identity.NameFile, phase.ResetMarkFile); err != nil {
		return err
	}
	return system.RemoveFile(filepath.Join(a.workDir, phase.ResetMarkFile))
}

// clearWorkDir removes all but some files.
func (a *Agent) clearWorkDir(keep ...string) error {
	entries, err := os.ReadDir(a.workDir)
	if errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(a.workDir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("emptying the work directory: %w", err)
	}
	for _, entry := range entries {
		if slices.Contains(keep, entry.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(a.workDir, entry.Name())); err != nil {
			return fmt.Errorf("emptying the work directory: %w", err)
		}
	}
	return nil
}
