// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Images fetches and serves OS images; image.Store does.
type Images interface {
	upgrade.Images
	// Relay offers an image on the loopback interface without keeping it, until stop is called.
	Relay(ctx context.Context, wanted image.Image) (reference string, stop func(), err error)
}

// Keys of the registration's install and reset options.
const isoOption = "iso"

var (
	imageOptions = []string{"systemUri", "recoverySystemUri"}
	// localSchemes name images on the booted media or disk, which are as trustworthy as the agent itself.
	localSchemes = []string{"dir:", "file:"}
)

// withLocalImages calls do with options in which each image in a registry is replaced by one that the agent relays: resolved over verified
// TLS, pinned by digest, and with the required signature. The CLI alone would pull by tag without verifying certificates, and records the
// digest under the address that it pulled from; the URI is stored for reports about the next boot.
func (a *Agent) withLocalImages(ctx context.Context, options json.RawMessage, by *wire.ImageVerification, do func(json.RawMessage) error) error {
	given := map[string]json.RawMessage{}
	if len(options) == 0 || json.Unmarshal(options, &given) != nil {
		return do(options) // the plugin reports what is wrong with them
	}
	if by != nil && textOf(given[isoOption]) != "" {
		return &image.Terminal{Message: isoOption + " of the registration's spec.config.elemental: the signature of an ISO cannot be verified: " +
			"use systemUri, or no imageVerification"}
	}
	served := map[string]string{}
	for _, option := range imageOptions {
		uri := textOf(given[option])
		if uri == "" || isLocal(uri) {
			continue
		}
		relayed, stop, err := a.relay(ctx, uri, by, served)
		if err != nil {
			return fmt.Errorf("%s of the registration's spec.config.elemental: %w", option, err)
		}
		defer stop()
		given[option], _ = json.Marshal(relayed) // a string
	}
	if len(served) == 0 {
		return do(options)
	}
	return a.doRemembering(ctx, given, served, do)
}

// doRemembering stores which images are served before the call, because an installation copies the file, and again afterwards, because a
// reset removes it.
func (a *Agent) doRemembering(ctx context.Context, given map[string]json.RawMessage, served map[string]string, do func(json.RawMessage) error) error {
	local, err := json.Marshal(given)
	if err != nil {
		return fmt.Errorf("encoding the registration's options: %w", err)
	}
	if err := a.rememberImages(ctx, served); err != nil {
		return err
	}
	if err := do(local); err != nil {
		return err
	}
	return a.rememberImages(ctx, served)
}

// leaveOutImages returns the options without their images, and whether there were any.
func leaveOutImages(options json.RawMessage) (json.RawMessage, bool) {
	given := map[string]json.RawMessage{}
	if len(options) == 0 || json.Unmarshal(options, &given) != nil {
		return options, false // the plugin reports what is wrong with them
	}
	before := len(given)
	for _, option := range append([]string{isoOption}, imageOptions...) {
		delete(given, option)
	}
	remaining, err := json.Marshal(given)
	return remaining, err == nil && len(given) < before
}

func isLocal(uri string) bool {
	return slices.ContainsFunc(localSchemes, func(scheme string) bool { return strings.HasPrefix(uri, scheme) })
}

// relay serves an image until ctx ends or stop is called, and records its URI in served.
func (a *Agent) relay(ctx context.Context, uri string, by *wire.ImageVerification, served map[string]string) (string, func(), error) {
	resolved, err := a.Images.Resolve(ctx, uri, "")
	if err != nil {
		return "", nil, err
	}
	if err := a.Images.Verify(ctx, resolved, by); err != nil {
		return "", nil, err
	}
	reference, stop, err := a.Images.Relay(ctx, resolved)
	if err != nil {
		return "", nil, err
	}
	served[resolved.Digest] = uri
	return "oci:" + reference, stop, nil
}

func (a *Agent) rememberImages(ctx context.Context, served map[string]string) error {
	content, err := json.Marshal(served)
	if err != nil {
		return fmt.Errorf("encoding the installed images: %w", err)
	}
	path := filepath.Join(a.Config.Agent.WorkDir, upgrade.InstalledFile)
	if err := a.Plugin.InstallFile(ctx, osplugin.File{Path: path, Mode: 0o600, Content: string(content)}); err != nil {
		return fmt.Errorf("persisting %s: %w", path, err)
	}
	return nil
}

func textOf(raw json.RawMessage) string {
	text := ""
	_ = json.Unmarshal(raw, &text) // the plugin refuses anything but a string
	return text
}
