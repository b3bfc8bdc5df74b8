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

// Reset brings the host back to its factory state and registers it again; see the package comment. It is
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

// ResetAgain is Reset with the counter of failed tries cleared.
func (a *Agent) ResetAgain(ctx context.Context) error {
	if err := phase.ForgetResetTries(a.Plugin.RecoveryDir()); err != nil {
		return err
	}
	return a.Reset(ctx)
}

// keptReset returns the reset options that the running system stored or, for a reset by hand, those of the registration.
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

// registrationsOptions returns the registration's reset options, fetched with the registration token. If they are refused the host is reset
// with the plugin's defaults: an expired token must not keep data on the disk.
func (a *Agent) registrationsOptions(ctx context.Context) (wire.Reset, error) {
	// The registration needs no identity, and must not create one before the wipe.
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

// wipe announces the reset to the API and resets the OS.
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

// resetOS resets the host to the requested images or, if these cannot be fetched, to the recovery system's own: a host that waited for them
// would keep its cluster's credentials. After too many failures it waits until the reset is requested again.
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

// withoutImages returns the options without their images, if there are any.
func (a *Agent) withoutImages(options json.RawMessage, because error) json.RawMessage {
	remaining, found := leaveOutImages(options)
	if found && because != nil {
		a.Log.Error("The host cannot be reset to the images of the registration's spec.config.elemental.reset; "+
			"wiping it with the recovery system's own image", "error", because)
		return remaining
	}
	return options
}

// beginAnew registers the wiped host under a new identity. The former identity is removed after the API knows of the wipe and before the new
// host is registered: interrupted anywhere, it can be called again, and exactly one host results.
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

// clearFormer empties the work directory, which a reset of the OS may or may not have formatted, unless it already belongs to the new host.
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

// resumeReset continues a reset that was interrupted after the former OS was wiped: the new one boots, and its work directory does not show
// the reset.
func (a *Agent) resumeReset(ctx context.Context) error {
	dir := a.Plugin.ResetDir()
	kept, found, err := phase.ReadKeptReset(dir)
	switch {
	case err != nil || !found:
		return err
	case kept.Wiped:
		a.Log.Info("The host is wiped, reporting it to the Elemental API")
		return a.beginAnew(ctx)
	case !identity.Exists(a.workDir):
		a.Log.Info("A reset was interrupted before the host was known to be wiped")
		return phase.CopyIdentity(a.workDir, dir)
	}
	return nil
}

// forgetFormerLife clears the work directory after a reset that kept its partition, as a registration may require. Only the present identity
// is kept.
func (a *Agent) forgetFormerLife(host *identity.Identity) error {
	key, err := host.PublicKey()
	if err != nil {
		return err
	}
	done, err := phase.ResetDone(a.workDir, key)
	if err != nil || !done {
		return err
	}
	a.Log.Info("The host was reset, clearing the former host's files")
	// The mark is removed last: if this is interrupted, it is repeated.
	if err := a.clearWorkDir(identity.KeyFile, identity.NameFile, phase.ResetMarkFile); err != nil {
		return err
	}
	return system.RemoveFile(filepath.Join(a.workDir, phase.ResetMarkFile))
}

// clearWorkDir removes everything except the given files and the stored reset options.
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
