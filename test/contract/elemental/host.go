// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

// Image to upgrade to.
type Image struct {
	// Version is its PRETTY_NAME.
	Version string
	// NoKernel makes one that cannot become the recovery system.
	NoKernel bool
	// FailingStage is a stage of cloud-init files in which one of it fails; empty for none.
	FailingStage string
	// Large has a file that takes most of it.
	Large bool
	// Modes are those of more files, by path: permissions and set-user-ID, as chmod has them.
	Modes map[string]int64
	// Missing is one that the registry does not have.
	Missing bool
}

// Moment at which the CLI is killed.
type Moment string

// Moments.
const (
	Never Moment = ""
	// InHook is in a hook within the new tree, before that is copied.
	InHook Moment = "in a hook"
	// Packing is while the tree is copied into the snapshot's image.
	Packing Moment = "while it copies"
	// Unrecorded is when the new snapshot is the default, and is not recorded.
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
	// ExitCode is -1 for one that was killed.
	ExitCode       int
	Stdout, Stderr string
}

// Disk is what there is on a host.
type Disk struct {
	// Snapshots are the entries of each snapshot's directory, by id.
	Snapshots map[int][]string
	// Default is the target of the link to the default one.
	Default string
	// Recorded are the ids in state.yaml, and whether each is called active there.
	Recorded map[int]bool
	// Passive and Fallback are passive_snaps and default_fallback of grub_oem_env.
	Passive, Fallback string
	// Check is boot_assessment_check of grubenv.
	Check string
	// Mounts are the targets of all mounts that the host did not have when it had booted, sorted.
	Mounts []string
	// Loops are the names of the snapshots' files that are attached to loop devices, beneath the directory of snapshots, sorted.
	Loops []string
}

// Host runs snapshot 1, and nobody but the case changes it.
type Host interface {
	// Upgrade calls the CLI, and returns when it has ended.
	Upgrade(Upgrade) Outcome
	// Look at the disk.
	Look() Disk
	// Fill leaves space on the state partition for the tree of a large image, and not for the snapshot that is made of it besides.
	Fill()
	// Whole says whether a snapshot of a large image has all of its large file.
	Whole(snapshot int) bool
	// Mode of a file of a snapshot, as chmod has it.
	Mode(snapshot int, path string) int64
}
