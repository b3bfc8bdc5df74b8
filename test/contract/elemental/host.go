// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

// Image to upgrade to.
type Image struct {
	// Version is its PRETTY_NAME.
	Version string
	// NoKernel makes it unable to become the recovery system.
	NoKernel bool
	// FailingStage is a stage in which one of its cloud-init files fails; empty for none.
	FailingStage string
	// Large adds a file that makes up most of it.
	Large bool
	// Modes adds files, by path, with their permissions and set-user-ID bits, as for chmod.
	Modes map[string]int64
	// Missing is set for an image that the registry does not have.
	Missing bool
}

// Moment at which the CLI is killed.
type Moment string

// Moments.
const (
	Never Moment = ""
	// InHook is in a hook in the new tree, before the tree is copied.
	InHook Moment = "in a hook"
	// Packing is while the tree is copied into the snapshot's image.
	Packing Moment = "while it copies"
	// Unrecorded is when the new snapshot is the default, but not recorded.
	Unrecorded Moment = "unrecorded"
)

// Upgrade is a call of "elemental upgrade".
type Upgrade struct {
	To       Image
	Recovery bool
	Killed   Moment
}

// Outcome of a call.
type Outcome struct {
	// ExitCode is -1 if it was killed.
	ExitCode       int
	Stdout, Stderr string
}

// Disk is the state of a host's disk.
type Disk struct {
	// Snapshots are the entries of each snapshot's directory, by id.
	Snapshots map[int][]string
	// Default is the target of the symlink to the default snapshot.
	Default string
	// Recorded are the IDs in state.yaml, and whether each is marked active.
	Recorded map[int]bool
	// Passive and Fallback are passive_snaps and default_fallback of grub_oem_env.
	Passive, Fallback string
	// Check is boot_assessment_check of grubenv.
	Check string
	// Mounts are the targets of all mounts that did not exist when the host had booted, sorted.
	Mounts []string
	// Loops are the files of snapshots that are attached to loop devices, relative to the directory of snapshots,
	// sorted.
	Loops []string
}

// Host runs snapshot 1, and is changed only by the spec.
type Host interface {
	// Upgrade calls the CLI, and returns when it has ended.
	Upgrade(Upgrade) Outcome
	// Look returns the state of the disk.
	Look() Disk
	// CutRecord leaves the beginning of state.yaml up to the first line of a text, as a loss of power can, and adds the rest of the text.
	CutRecord(text string)
	// Fill leaves enough space on the state partition for the tree of a large image, but not for the snapshot in
	// addition.
	Fill()
	// Whole reports whether a snapshot of a large image has its large file completely.
	Whole(snapshot int) bool
	// Mode of a file of a snapshot, as for chmod.
	Mode(snapshot int, path string) int64
}
