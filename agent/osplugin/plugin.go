// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osplugin

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Boot modes, as the toolkit names them.
const (
	ModeActive   = "active"
	ModePassive  = "passive"
	ModeRecovery = "recovery"
	ModeLive     = "live"
)

// Errors that callers act on.
var (
	// ErrNoSuchSnapshot: a snapshot cannot be booted.
	ErrNoSuchSnapshot = errors.New("no such snapshot")
	// ErrCorrupt: a snapshot does not have the expected content, or that cannot be proven.
	ErrCorrupt = errors.New("the snapshot is corrupt")
	// ErrUnsupported: the plugin or the host permanently does not support the request.
	ErrUnsupported = errors.New("not supported")
	// ErrRestart is returned by Reboot of a plugin without a machine to reboot: the agent has to exit,
	// and its caller starts it again.
	ErrRestart = errors.New("restart the agent to simulate a reboot")
)

// Plugin is an operating system.
type Plugin interface {
	// Init prepares the plugin. It is called once, first.
	Init(ctx context.Context) error
	// Facts returns what is booted, never what would be booted next. With an error it returns the facts that could be determined,
	// at least the mode.
	Facts(ctx context.Context) (Facts, error)

	Installer
	Upgrader
	Bootstrapper
	Resetter

	// Assess assesses the running boot once, without the user's checks.
	Assess(ctx context.Context, question assess.Question) (assess.Verdict, error)
	// Check runs the user's checks. They are run when everything else has passed. A required check that failed before is a warning.
	Check(ctx context.Context, before assess.UnitStates) (assess.Verdict, error)
	// BeforeUpgrade runs the user's pre-upgrade programs, up to the first that fails, for which the verdict is Bad.
	BeforeUpgrade(ctx context.Context) (assess.Verdict, error)
	// Before assesses the running boot before an upgrade, to compare the next one with it: the services that have failed or are still to be
	// started, whether the host has a default route, and the checks that fail. A kubelet has to run if the host is bootstrapped.
	Before(ctx context.Context, bootstrapped bool) (assess.UnitStates, error)
	// Reboot does not return before the host goes down, and then with the context's error. It fails when
	// the host does not go down.
	Reboot(ctx context.Context) error
	// PowerOff is like Reboot.
	PowerOff(ctx context.Context) error
}

// Facts of a boot.
type Facts struct {
	// Snapshot that is booted; 0 when it is not one (recovery, live).
	Snapshot int32
	// Digest of the image the snapshot was made from; empty when it was not made from an OCI image, or is unfinished.
	Digest string
	// Attempt for which the snapshot was written; empty if the agent did not write it, or it is unfinished.
	Attempt string
	// Unfinished is whether the upgrade that wrote the snapshot did not complete, for example because power was lost after the
	// snapshot had become the default: its content is not verified.
	Unfinished bool
	// Source of the snapshot as the OS recorded it.
	Source string
	// RecoveryDigest of the image the recovery system was made from; empty if that is unknown.
	RecoveryDigest string
	// Mode is one of the Mode constants.
	Mode string
	// BootID is the kernel's: new after every boot.
	BootID string
	// Version is PRETTY_NAME.
	Version string
}

// Upgrader writes images and selects what is booted.
type Upgrader interface {
	// Exclusive waits until no other process installs, upgrades or resets the OS, and locks others out until release is called. If it
	// has to wait, it calls waiting once with the reason.
	Exclusive(ctx context.Context, waiting func(reason string)) (release func(), err error)
	// Space measures free disk space.
	Space(ctx context.Context) (Space, error)
	// RecoverySpace measures the space for an upgrade of the recovery system.
	RecoverySpace(ctx context.Context) (RecoverySpace, error)
	// Clean removes the remains of a killed upgrade. It never changes the booted snapshot.
	Clean(ctx context.Context) error
	// MakeRoom frees so many bytes for snapshots, as far as Space reports them, by removing a fallback that the upgrade would remove at
	// its end.
	MakeRoom(ctx context.Context, bytes int64) error
	// Upgrade writes an image to a new snapshot. Use Written to determine whether it did, never the error
	// alone. ErrCorrupt means that some of the written data is known not to have reached the disk.
	Upgrade(ctx context.Context, request Upgrade) (Output, error)
	// Written returns the snapshot that was completely written for an attempt from an image with this
	// digest and is what a boot would choose; 0 if there is none.
	Written(ctx context.Context, attempt, digest string) (int32, error)
	// VerifySnapshot returns ErrCorrupt if a snapshot that was written in this boot or a former one does not have the expected content
	// on the disk, and another error if that cannot be determined.
	VerifySnapshot(ctx context.Context, verification Verification) error
	// Discard removes a snapshot that is not booted. If it was the default, the booted one becomes the default.
	Discard(ctx context.Context, snapshot int32) error
	// BootNewest makes the next boot use the default, which is the snapshot that was written last unless BootAlways has selected
	// another one since.
	BootNewest(ctx context.Context) error
	// BootAlways makes a snapshot the default, and the other complete ones its fallbacks, except the snapshot bad; 0 for none.
	// ErrNoSuchSnapshot if it cannot be booted.
	BootAlways(ctx context.Context, snapshot, bad int32) error
}

// Upgrade is a request to write an image.
type Upgrade struct {
	// Attempt is recorded with the snapshot.
	Attempt string
	// Image is where the image can be pulled, without a scheme.
	Image string
	// Version has the other settings of the OS version.
	Version wire.OSVersion
}

// Output of an upgrade that did not fail.
type Output struct {
	// Warnings are failures that do not prevent the image from being written: stages of the user's.
	Warnings []string
	// End is the end of what was printed, in one line.
	End string
}

// Space is free disk space in bytes.
type Space struct {
	// State is free where snapshots are written, or can be made so by MakeRoom.
	State int64
	// Work is free in the agent's work directory, where downloads are kept.
	Work int64
}

// RecoverySpace is where the recovery system is written, beside the present one.
type RecoverySpace struct {
	// Known reports whether it could be measured.
	Known bool
	// Free is in bytes.
	Free int64
	// Packed is whether the recovery system is a compressed image, of about the size of the download.
	Packed bool
}

// Verification is a request to compare a snapshot with its expected content.
type Verification struct {
	Snapshot int32
	// Downloaded is the path of the list of the files that were downloaded for it. Empty: they are compared with nothing.
	Downloaded string
	// Read, if set, is called with the bytes read so far and their total.
	Read func(done, total int64)
}

// BootstrapState is the progress of the host's bootstrap.
type BootstrapState struct {
	// Placed is true while the bootstrap configuration waits for, or is being applied in, a boot.
	Placed bool
	// Applied is true when this boot has applied it.
	Applied bool
}

// Bootstrapper applies bootstrap data.
type Bootstrapper interface {
	// Bootstrap places the data so that the next boot applies it, once.
	Bootstrap(ctx context.Context, data wire.Bootstrap) error
	// BootstrapState returns the progress of the bootstrap.
	BootstrapState(ctx context.Context) (BootstrapState, error)
	// BootstrapFailure returns the unit that has failed in this boot while it applied the data; empty if none has, or not yet. Data may be
	// applied nevertheless: ask for the state afterwards.
	BootstrapFailure(ctx context.Context) (unit string, err error)
}

// Resetter resets the host.
type Resetter interface {
	// ResetDir is a directory that the running and the recovery system read and that a reset leaves as it is. What the
	// agent needs to reset the host, and to say that it has, lies there.
	ResetDir() string
	// RecoveryDir is a directory that only the recovery system has, and that no reset changes, even one that fails. The tries of a
	// reset are counted there.
	RecoveryDir() string
	// TriggerReset makes the next boot go to recovery, which runs "elemental-agent reset". It does not
	// reboot.
	TriggerReset(ctx context.Context) error
	// AbandonReset removes the files of TriggerReset, which would reset the host in its next recovery boot. It does nothing if there are none.
	AbandonReset(ctx context.Context) error
	// Reset resets the host and keeps the agent's configuration, for the next boot too. It is called in recovery, can be
	// repeated, and takes the registration's spec.config.elemental.reset.
	Reset(ctx context.Context, options json.RawMessage) error
}

// Installer makes settings persist over an installation or a reset.
type Installer interface {
	// Installed reports whether an installed OS is running, as opposed to live media.
	Installed() bool
	// InstallHostname gives the host a name at every boot.
	InstallHostname(ctx context.Context, name string) error
	// InstallFile puts a file back at every boot.
	InstallFile(ctx context.Context, file File) error
	// InstallCloudConfig applies a cloud-config, given as JSON, at every boot.
	InstallCloudConfig(ctx context.Context, config json.RawMessage) error
	// Install installs the OS from live media and does nothing elsewhere. It takes the registration's
	// spec.config.elemental.install.
	Install(ctx context.Context, options json.RawMessage) error
}

// File to install.
type File struct {
	// Path on the host.
	Path string
	// Mode of the file.
	Mode uint32
	// Content of the file.
	Content string
}
