// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/loop"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/report"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// imageBytes of every image, and freeBytes of every state partition.
	imageBytes = 1 << 30
	freeBytes  = 20 << 30
)

// host implements the actor of an agent's loop: it carries out the desired state immediately, and never fails.
type host struct {
	name  string
	api   *client.Client
	board *report.Board
	nodes *nodes

	boots        int
	bootstrapped bool
}

func newHost(name, image string, api *client.Client, nodes *nodes) *host {
	board := report.New(api, system.WallClock{}, retry.API, slog.New(slog.DiscardHandler))
	h := &host{name: name, api: api, board: board, nodes: nodes}
	board.Update(func(r *wire.Report) {
		r.AgentVersion, r.Phase, r.Installed = "v0.8.0", wire.HostRunning, true
		r.Addresses = []wire.Address{{Type: "Hostname", Address: name}}
	})
	h.boot(image, Digest(image), nil)
	return h
}

// run runs the agent until ctx ends.
func (h *host) run(ctx context.Context) {
	_ = loop.New(loop.Options{
		API: h.api, Actor: h, Board: h.board, Clock: system.WallClock{}, Log: slog.New(slog.DiscardHandler),
		Policy: retry.API, Registered: func() error { return nil }, Registration: true,
	}).Run(ctx)
}

// Act carries out the desired state.
func (h *host) Act(ctx context.Context, desired wire.Desired, _, _ <-chan struct{}) error {
	if desired.Bootstrap && !h.bootstrapped {
		if err := h.bootstrap(ctx); err != nil {
			return err
		}
	}
	if desired.Upgrade == nil {
		h.board.Attempt(nil)
		return nil
	}
	return h.upgrade(ctx, desired.Upgrade)
}

// Resume has no attempt to resume.
func (h *host) Resume(context.Context) error { return nil }

// Refresh has no state to refresh.
func (h *host) Refresh() {}

// Failed does not report: the loop retries.
func (h *host) Failed(error) {}

func (h *host) bootstrap(ctx context.Context) error {
	if _, err := h.api.Bootstrap(ctx); err != nil {
		return err
	}
	if err := h.nodes.join(ctx, h.name, h.bootID()); err != nil {
		return err
	}
	h.bootstrapped = true
	h.board.Update(func(r *wire.Report) { r.Bootstrapped = true })
	return nil
}

// upgrade goes through the remaining phases of an attempt and reports each of them.
func (h *host) upgrade(ctx context.Context, wanted *wire.Upgrade) error {
	image, err := imageOf(wanted)
	if err != nil {
		return err
	}
	now := &wire.Attempt{Attempt: wanted.Attempt}
	if told := h.board.Report().Upgrade; told != nil && told.Attempt == wanted.Attempt {
		now = told
	}
	if now.Phase == "" {
		for _, phase := range []string{wire.PhaseFetching, wire.PhaseFetched} {
			h.tell(ctx, wanted, phase, image)
		}
		now = h.board.Report().Upgrade
	}
	if !wanted.Apply || now.Phase != wire.PhaseFetched {
		return nil
	}
	h.tell(ctx, wanted, wire.PhaseApplying, image)
	h.tell(ctx, wanted, wire.PhaseRebooting, image)
	h.boot(image, Digest(image), h.said(wanted, wire.PhaseAssessing, image))
	h.board.Flush(ctx)
	if err := h.nodes.booted(ctx, h.name, h.bootID()); err != nil {
		return err
	}
	h.tell(ctx, wanted, wire.PhaseSucceeded, image)
	return nil
}

// tell reports a phase, and returns once the API has accepted it.
func (h *host) tell(ctx context.Context, wanted *wire.Upgrade, phase, image string) {
	h.board.Attempt(h.said(wanted, phase, image))
	h.board.Flush(ctx)
}

// said is what is reported of an attempt in a phase.
func (h *host) said(wanted *wire.Upgrade, phase, image string) *wire.Attempt {
	said := &wire.Attempt{Attempt: wanted.Attempt, Phase: phase, FreeBytes: freeBytes}
	if phase != wire.PhaseFetching {
		said.Digest, said.ImageBytes, said.FromBootID = Digest(image), imageBytes, h.bootID()
	}
	if told := h.board.Report().Upgrade; told != nil && told.Attempt == wanted.Attempt && told.FromBootID != "" {
		said.FromBootID = told.FromBootID
	}
	said.Healthy = phase == wire.PhaseSucceeded
	return said
}

// boot begins a boot into an image. As in the first report of an agent after a boot, what is said of the attempt by then is said with it.
func (h *host) boot(image, digest string, attempt *wire.Attempt) {
	h.boots++
	h.board.Update(func(r *wire.Report) {
		r.Upgrade = attempt
		r.OS = wire.OS{
			ImageURI: image, Digest: digest, Snapshot: int32(h.boots), BootMode: "active", BootID: h.bootID(), FreeBytes: freeBytes,
		}
	})
}

func (h *host) bootID() string { return fmt.Sprintf("%s-%d", h.name, h.boots) }

func imageOf(wanted *wire.Upgrade) (string, error) {
	version := wire.OSVersion{}
	if err := json.Unmarshal(wanted.OSVersionManagement["osVersion"], &version); err != nil {
		return "", fmt.Errorf("reading osVersion of attempt %s: %w", wanted.Attempt, err)
	}
	return version.ImageURI, nil
}

// Digest of an image, derived from its name because there is no registry.
func Digest(image string) string {
	sum := sha256.Sum256([]byte(image))
	return "sha256:" + hex.EncodeToString(sum[:])
}
