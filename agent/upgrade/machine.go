// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Images fetches and serves OS images; image.Store does.
type Images interface {
	Resolve(ctx context.Context, uri, digest string) (image.Image, error)
	// Verify verifies that a resolved image is signed according to the rules; with nil there is no requirement.
	Verify(ctx context.Context, wanted image.Image, by *wire.ImageVerification) error
	Download(ctx context.Context, wanted image.Image) error
	// Downloaded is the number of bytes of an image that are downloaded.
	Downloaded(digest string) int64
	// Unpacked is how much space an image that was downloaded takes once it is unpacked, in bytes.
	Unpacked(ctx context.Context, digest string) (int64, error)
	// FileList is the path of a list of its files.
	FileList(ctx context.Context, digest string) (path string, err error)
	Serve(digest string) (reference string, stop func(), err error)
	Drop(keep ...string) error
}

// Reporter reports the progress of the attempt to the Elemental API.
type Reporter interface {
	// Attempt replaces the reported status of the attempt; nil if there is none.
	Attempt(attempt *wire.Attempt)
	// Flush sends it now, and returns when it has arrived or ctx ends.
	Flush(ctx context.Context)
}

// Policy holds the limits of an attempt.
type Policy struct {
	// Registry says how often an image registry is tried.
	Registry retry.Policy
	// Act is how long to wait after a failure of writing the image.
	Act retry.Policy
	// MaxFailures of writing the image.
	MaxFailures int
	// MaxStarts of writing the image, including those that were interrupted.
	MaxStarts int
	// AssessTimeout is how long a boot may take to become good.
	AssessTimeout time.Duration
	// AssessInterval is how long to wait before a boot is assessed again.
	AssessInterval time.Duration
	// StableWindow is how long a boot has to stay good, with the same kubelet, before it passes.
	StableWindow time.Duration
	// FlushTimeout bounds the report before a reboot.
	FlushTimeout time.Duration
	// ProgressInterval is the minimum time between two reports of progress, and how often it is measured; 0 disables reports.
	ProgressInterval time.Duration
}

// DefaultPolicy is used when none is given.
var DefaultPolicy = Policy{
	Registry: retry.Registry, Act: retry.Act, MaxFailures: 3, MaxStarts: 20,
	AssessTimeout: 10 * time.Minute, AssessInterval: 2 * time.Second, StableWindow: 30 * time.Second, FlushTimeout: 5 * time.Second,
	ProgressInterval: 10 * time.Second,
}

// Options of a Machine.
type Options struct {
	Plugin   osplugin.Plugin
	Images   Images
	Clock    system.Clock
	Reporter Reporter
	// Log for the host's journal.
	Log *slog.Logger
	// WorkDir holds the marker.
	WorkDir string
	// Bootstrapped reports whether the host is a node.
	Bootstrapped func() bool
	// Volatile returns why the marker would be lost with the next reboot, in that boot mode; empty if it would not.
	Volatile func(mode string) string
	// Policy with the limits. Default DefaultPolicy.
	Policy Policy
}

// Machine carries out attempts, one at a time. Advance must not be called while it runs.
type Machine struct {
	Options
	// lock guards marker against readers; only Advance and what it calls write it.
	lock   sync.Mutex
	marker Marker
	known  *knowledge
	// isTriggered reports whether the attempt is to be carried out: its node is drained, and a preparation that does not succeed ends it.
	isTriggered bool
	// newer interrupts a preparation, see Interrupts.
	newer <-chan struct{}
}

// New reads the marker and reports its attempt, if any.
func New(options Options) (*Machine, error) {
	if options.Policy == (Policy{}) {
		options.Policy = DefaultPolicy
	}
	marker, err := ReadMarker(options.WorkDir)
	if err != nil {
		return nil, fmt.Errorf("reading the upgrade marker: %w", err)
	}
	known, err := readKnown(options.WorkDir)
	if err != nil {
		return nil, fmt.Errorf("reading the known images: %w", err)
	}
	options.Reporter.Attempt(marker.Wire())
	return &Machine{Options: options, marker: marker, known: &knowledge{workDir: options.WorkDir, known: known}}, nil
}

// Marker returns a copy of the current marker.
func (m *Machine) Marker() Marker {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.marker
}

// ImageURI is the URI of the image with this digest in the desired state; empty if it was never desired.
func (m *Machine) ImageURI(digest string) string {
	return m.known.get().Images[digest]
}

// FreeBytes as measured when the last attempt was prepared.
func (m *Machine) FreeBytes() int64 {
	return m.known.get().FreeBytes
}

// save replaces the marker: first on disk, then in the report to the API.
func (m *Machine) save(marker Marker) error {
	if err := writeMarker(m.WorkDir, marker); err != nil {
		return fmt.Errorf("storing the upgrade marker: %w", err)
	}
	previous := m.Marker()
	m.show(marker)
	if previous.Phase != marker.Phase || previous.Attempt != marker.Attempt {
		m.Log.Info("Upgrade attempt moved on", "attempt", marker.Attempt, "phase", marker.Phase, "message", marker.Message)
	}
	return nil
}

// show reports a marker, and continues with it.
func (m *Machine) show(marker Marker) {
	m.lock.Lock()
	m.marker = marker
	m.lock.Unlock()
	m.Reporter.Attempt(marker.Wire())
}

// forget removes the marker and the downloads for it.
func (m *Machine) forget() error {
	if err := m.Images.Drop(); err != nil {
		return err
	}
	if err := removeMarker(m.WorkDir); err != nil {
		return err
	}
	m.show(Marker{})
	return nil
}

// know stores facts that outlive the attempt. Only the images of the two snapshots that can be booted
// after it are kept.
func (m *Machine) know(update func(*Known)) error { return m.known.update(update) }
