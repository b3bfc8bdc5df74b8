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
	// ErrNoSuchSnapshot: a snapshot that shall be booted cannot be.
	ErrNoSuchSnapshot = errors.New("no such snapshot")
	// ErrCorrupt: a snapshot does not hold what it was to hold, or nothing says that it does.
	ErrCorrupt = errors.New("the snapshot is corrupt")
	// ErrUnsupported: the plugin or the host cannot do what is asked for, now or later.
	ErrUnsupported = errors.New("not supported")
	// ErrRestart is returned by Reboot of a plugin that has no machine to reboot: the agent has to end,
	// and whoever runs it starts it again.
	ErrRestart = errors.New("restart the agent to simulate a reboot")
)

// Plugin is an operating system.
type Plugin interface {
	// Init prepares the plugin. It is called once, first.
	Init(ctx context.Context) error
	// Facts says what is booted. It never says what would be booted next. With an error it says what can be told all the same,
	// the mode at least.
	Facts(ctx context.Context) (Facts, error)

	Installer
	Upgrader
	Bootstrapper
	Resetter

	// Assess judges the running boot once, but for the user's checks.
	Assess(ctx context.Context, question assess.Question) (assess.Verdict, error)
	// Check has the user's checks judge it. They are run when a boot is good otherwise.
	Check(ctx context.Context) (assess.Verdict, error)
	// BeforeUpgrade runs the user's programs that come before an upgrade, up to the first that fails, for which the verdict is
	// Bad.
	BeforeUpgrade(ctx context.Context) (assess.Verdict, error)
	// Units says which services have failed or are still to be started.
	Units(ctx context.Context) (assess.UnitStates, error)
	// Reboot does not return before the host goes down, and then with the context's error. It fails when
	// the host does not go down.
	Reboot(ctx context.Context) error
	// PowerOff is as Reboot.
	PowerOff(ctx context.Context) error
}

// Facts of a boot.
type Facts struct {
	// Snapshot that is booted; 0 when it is not one (recovery, live).
	Snapshot int32
	// Digest of the image the snapshot was made from; empty when it was not made from an OCI image, or is unfinished.
	Digest string
	// Attempt that the snapshot was written for; empty when it was written by somebody else, or is unfinished.
	Attempt string
	// Unfinished says that the upgrade that wrote the snapshot did not come to its end, as when the power was lost after the
	// snapshot had become the default: nothing vouches for what it holds.
	Unfinished bool
	// Source of the snapshot as the OS recorded it.
	Source string
	// Mode is one of the Mode constants.
	Mode string
	// BootID is the kernel's: new after every boot.
	BootID string
	// Version is PRETTY_NAME.
	Version string
}

// Upgrader writes images and chooses what is booted.
type Upgrader interface {
	// Exclusive waits until nobody else installs, upgrades or resets the OS, and keeps others from it until release is called. It says
	// once, by waiting, why it has to wait.
	Exclusive(ctx context.Context, waiting func(reason string)) (release func(), err error)
	// Space measures free disk space.
	Space(ctx context.Context) (Space, error)
	// RecoverySpace measures what an upgrade of the recovery system can use.
	RecoverySpace(ctx context.Context) (RecoverySpace, error)
	// Clean removes what an upgrade that was killed left behind. It never touches the booted snapshot.
	Clean(ctx context.Context) error
	// MakeRoom has so many bytes free where snapshots are written, as far as Space says, at the cost of a fallback that the upgrade
	// would remove at its end.
	MakeRoom(ctx context.Context, bytes int64) error
	// Upgrade writes an image to a new snapshot. Whether it did is told by Written, never by the error
	// alone. The warnings are of what has failed and keeps no image from being written: stages of the user's. ErrCorrupt says that
	// something of what was written is known not to have reached the disk.
	Upgrade(ctx context.Context, request Upgrade) (warnings []string, err error)
	// Written returns the snapshot that was completely written for an attempt from an image with this
	// digest and is what a boot would choose; 0 if there is none.
	Written(ctx context.Context, attempt, digest string) (int32, error)
	// VerifySnapshot returns ErrCorrupt unless a snapshot that was written in this boot or a former one holds, on the disk, what it
	// was to hold, and another error when that cannot be told.
	VerifySnapshot(ctx context.Context, verification Verification) error
	// Discard removes a snapshot that is not booted. What is booted becomes the default if that was the one.
	Discard(ctx context.Context, snapshot int32) error
	// BootNewest makes the next boot choose the default, which is the snapshot that was written last unless BootAlways has chosen
	// another one since.
	BootNewest(ctx context.Context) error
	// BootAlways makes a snapshot the default, and the other whole ones its fallbacks, but for the snapshot bad; 0 for none.
	// ErrNoSuchSnapshot if it cannot be booted.
	BootAlways(ctx context.Context, snapshot, bad int32) error
}

// Upgrade is a request to write an image.
type Upgrade struct {
	// Attempt is recorded with the snapshot.
	Attempt string
	// Image is where the image can be pulled, without a scheme.
	Image string
	// Version holds the further wishes.
	Version wire.OSVersion
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
	// Packed says that it is a compressed image there, of about the size of what is downloaded.
	Packed bool
}

// Verification is a request to compare a snapshot with what it was to become.
type Verification struct {
	Snapshot int32
	// Downloaded is the path of the list of the files that were downloaded for it. Empty: they are compared with nothing.
	Downloaded string
	// Read is told how many bytes of how many have been read. Default: nobody is.
	Read func(done, total int64)
}

// BootstrapState is how far the host's bootstrap is.
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
	// BootstrapState says how far that is.
	BootstrapState(ctx context.Context) (BootstrapState, error)
}

// Resetter brings the host back to its factory state.
type Resetter interface {
	// ResetDir is a directory that the running and the recovery system read and that a reset leaves as it is. What the
	// agent needs to reset the host, and to say that it has, lies there.
	ResetDir() string
	// RecoveryDir is a directory that the recovery system alone has, and that no reset touches, whatever becomes of it. What was
	// tried of a reset is counted there.
	RecoveryDir() string
	// TriggerReset makes the next boot go to recovery, which runs "elemental-agent reset". It does not
	// reboot.
	TriggerReset(ctx context.Context) error
	// AbandonReset undoes what TriggerReset has left for recovery systems to come. It does nothing where nothing is left.
	AbandonReset(ctx context.Context) error
	// Reset resets the host and keeps the agent's configuration, for the next boot too. It is called in recovery, can be
	// repeated, and takes the registration's spec.config.elemental.reset.
	Reset(ctx context.Context, options json.RawMessage) error
}

// Installer makes things last over an installation or a reset.
type Installer interface {
	// Installed reports whether the host has an installed OS, which live media has not.
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
