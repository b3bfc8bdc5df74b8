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
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Reset brings the host back to its factory state and registers it anew; see the package comment. It is
// called in recovery and can be called again if it was cut off.
func (a *Agent) Reset(ctx context.Context) error {
	if err := a.Plugin.Init(ctx); err != nil {
		return fmt.Errorf("initializing the OS plugin: %w", err)
	}
	kept, err := a.keptReset(ctx)
	if err != nil {
		return err
	}
	if !kept.Wiped {
		if err := a.wipe(ctx, kept); err != nil {
			return err
		}
	}
	if err := phase.ForgetResetTries(a.Plugin.RecoveryDir()); err != nil {
		return err
	}
	if err := a.beginAnew(ctx); err != nil {
		return err
	}
	return a.after(ctx, a.Config.Agent.PostReset)
}

// ResetAgain is Reset, however often that has been tried in vain.
func (a *Agent) ResetAgain(ctx context.Context) error {
	if err := phase.ForgetResetTries(a.Plugin.RecoveryDir()); err != nil {
		return err
	}
	return a.Reset(ctx)
}

// keptReset is what the running system has kept, or what a person means who resets the host by hand.
func (a *Agent) keptReset(ctx context.Context) (phase.KeptReset, error) {
	kept, found, err := phase.ReadKeptReset(a.Plugin.ResetDir())
	if err != nil || found {
		return kept, err
	}
	if kept.Reset, err = a.registrationsOptions(ctx); err != nil {
		return kept, err
	}
	kept.Order = phase.NewOrder(a.Host.Clock)
	if from := a.identityDir(); from != "" {
		err = phase.KeepReset(a.Plugin.ResetDir(), from, kept)
	}
	return kept, err
}

// registrationsOptions are the reset options as whoever holds the registration token is told them. Refused, the host is
// reset with the plugin's defaults: a token that has expired is no reason to keep what is on its disk.
func (a *Agent) registrationsOptions(ctx context.Context) (wire.Reset, error) {
	// The registration needs no identity, and making one now would be too early.
	api := a.clientOf(nil)
	defer api.Close()
	given, err := a.givenIfAny(ctx, api)
	return wire.Reset{Options: given.Elemental.Reset, ImageVerification: given.verification}, err
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

// wipe resets the OS, after the API has been told that this is about to happen.
func (a *Agent) wipe(ctx context.Context, kept phase.KeptReset) error {
	if err := a.announceReset(ctx); err != nil {
		return err
	}
	if err := a.resetOS(ctx, kept); err != nil {
		return err
	}
	dir := a.Plugin.ResetDir()
	if !identity.Exists(dir) {
		return nil
	}
	kept.Wiped = true
	return phase.KeepReset(dir, dir, kept)
}

// resetOS resets the host to the images that it is to be reset to or, when these cannot be had, to the recovery system's own: a
// host that waited for them would keep the credentials of the cluster that it was in. After some tries it waits for another order.
func (a *Agent) resetOS(ctx context.Context, kept phase.KeptReset) error {
	tries, err := phase.ReadResetTries(a.Plugin.RecoveryDir(), kept.Order)
	if err != nil {
		return err
	}
	var final error
	options, failures := kept.Options, 0
	err = a.persist(ctx, "resetting the OS", func() error {
		if tries.Exhausted() {
			if err := a.awaitOrder(ctx, tries); err != nil {
				return err
			}
			options, failures = kept.Options, 0
		}
		err := a.withLocalImages(ctx, options, kept.ImageVerification, func(options json.RawMessage) error {
			return a.tryReset(ctx, tries, options)
		})
		if errors.Is(err, osplugin.ErrUnsupported) {
			final = err
			return nil
		}
		if failures++; cannotBeHad(err) || retry.Registry.Exhausted(failures) || tries.WithoutImages() {
			options = a.withoutImages(options, err)
		}
		return err
	})
	return errors.Join(err, final)
}

func (a *Agent) tryReset(ctx context.Context, tries *phase.ResetTries, options json.RawMessage) error {
	if err := tries.Begin(); err != nil {
		return err
	}
	err := a.Plugin.Reset(ctx, options)
	if err == nil {
		return nil
	}
	return errors.Join(err, tries.Fail(err))
}

func cannotBeHad(err error) bool {
	var terminal *image.Terminal
	return errors.As(err, &terminal)
}

// withoutImages are the options without the images that they name, if they do.
func (a *Agent) withoutImages(options json.RawMessage, because error) json.RawMessage {
	remaining, found := leaveOutImages(options)
	if found && because != nil {
		a.Log.Error("The host cannot be reset to the images of the registration's spec.config.elemental.reset; "+
			"it is wiped all the same, with the recovery system's own image", "error", because)
		return remaining
	}
	return options
}

// beginAnew makes a host of its own of what has been wiped. Who it was is forgotten once the API knows of the wipe, and
// before the new host is known to it: cut off anywhere, it is called again, and there is one host in the end.
func (a *Agent) beginAnew(ctx context.Context) error {
	if err := a.clearFormer(); err != nil {
		return err
	}
	api, host, err := a.connect()
	if err != nil {
		return err
	}
	defer api.Close()
	if err := a.acknowledgeReset(ctx); err != nil {
		return err
	}
	given, err := a.givenIfAny(ctx, api)
	if err != nil {
		return err
	}
	if err := a.makeLast(ctx, host, given); err != nil {
		return err
	}
	if err := phase.ForgetKeptReset(a.Plugin.ResetDir()); err != nil {
		return err
	}
	return a.register(ctx, api, host)
}

// clearFormer empties the work directory, which a reset of the OS may or may not have formatted, unless it is the new host's.
func (a *Agent) clearFormer() error {
	dir := a.Plugin.ResetDir()
	if identity.Exists(dir) && identity.Exists(a.workDir) {
		same, err := identity.Same(dir, a.workDir)
		if err != nil || !same {
			return err
		}
	}
	return a.clearWorkDir()
}

// resumeReset goes on with a reset that was cut off once the former system was gone: the new one boots, and nothing in its
// work directory tells of the reset.
func (a *Agent) resumeReset(ctx context.Context) error {
	dir := a.Plugin.ResetDir()
	kept, found, err := phase.ReadKeptReset(dir)
	switch {
	case err != nil || !found:
		return err
	case kept.Wiped:
		a.Log.Info("The host was reset, and goes on to tell the Elemental API")
		return a.beginAnew(ctx)
	case !identity.Exists(a.workDir):
		a.Log.Info("The host was being reset and is not known to have been wiped")
		return phase.CopyIdentity(a.workDir, dir)
	}
	return nil
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

// clearWorkDir removes all but some files, and what is kept of a reset.
func (a *Agent) clearWorkDir(keep ...string) error {
	if dir := a.Plugin.ResetDir(); filepath.Dir(dir) == a.workDir {
		keep = append(keep, filepath.Base(dir))
	}
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
