// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"path/filepath"
	"regexp"
)

// Paths on an Elemental host.
const (
	stateDir       = "/run/initramfs/elemental-state"
	legacyStateDir = "/run/initramfs/cos-state"
	stateFile      = "state.yaml"
	snapshotsDir   = ".snapshots"
	snapshotImage  = "snapshot.img"
	snapshotTree   = "snapshot"
	activeLink     = "active"

	workingTree = "/run/elemental/workingtree"
	recoveryDir = "/run/elemental/recovery"
	efiDir      = "/run/elemental/efi"
	grubOEMEnv  = efiDir + "/grub_oem_env"

	oemDir          = "/oem"
	grubEnv         = oemDir + "/grubenv"
	bootstrapConfig = oemDir + "/bootstrap-cloud-config.yaml"
	resetConfig     = oemDir + "/reset-cloud-config.yaml"
	keptDir         = oemDir + "/elemental/agent"
	keptAgentConfig = keptDir + "/config.yaml"
	// recoveryKeptDir is on the recovery partition, which the recovery system mounts in place of the state partition.
	recoveryKeptDir      = "elemental-agent"
	hostnameConfig       = oemDir + "/set-hostname.yaml"
	cloudConfig          = oemDir + "/set-cloud-config.yaml"
	installedFilePattern = oemDir + "/set-*.yaml"
	installedFilePrefix  = oemDir + "/set-file-"
	// customFilePattern matches the names under which "elemental install" copies the files that it is given.
	// Source: elemental-toolkit v2.3.2, pkg/elemental, CopyCloudConfig.
	customFilePattern = oemDir + "/9*_custom.yaml"

	// runDir holds the agent's files of this boot.
	runDir = "/run/elemental-agent"
	// elementalLock is locked by each installation, upgrade and reset, until its last process has ended.
	elementalLock = runDir + "/elemental.lock"

	// bootcmdScript and runcmdScript are the commands of the bootstrap data, in the boot that runs them.
	bootcmdScript = runDir + "/bootstrap/bootcmd"
	runcmdScript  = runDir + "/bootstrap/runcmd"

	// installedMark exists from the end of an installation to the next boot.
	installedMark = runDir + "/installed"

	modePattern   = "/run/elemental/%s_mode"
	bootIDFile    = "/proc/sys/kernel/random/boot_id"
	osReleaseFile = "/etc/os-release"
	// identityFile of a snapshot names the attempt for which it was written.
	identityFile = "/usr/lib/elemental-agent/snapshot.json"
	// backingFilePattern is the file with the name of the file that a loop device, given by its number, is attached to.
	backingFilePattern = "/sys/dev/block/%s/loop/backing_file"
	byLabel            = "/dev/disk/by-label/"

	// bootstrapSentinel is defined by Cluster API's bootstrap provider contract.
	bootstrapSentinel = "/run/cluster-api/bootstrap-success.complete"
)

// survivors are the entries of oemDir that a reset keeps.
var survivors = []string{filepath.Base(grubEnv), filepath.Base(resetConfig), filepath.Base(filepath.Dir(keptDir)), "lost+found"}

// upgradeMounts are where "elemental upgrade" mounts what it writes and reads, in addition to the mounts of the boot.
// Source: elemental-toolkit v2.3.2, pkg/constants.
var upgradeMounts = []string{workingTree, recoveryDir, "/run/elemental/transition", "/run/elemental/imgsrc"}

// workDirMount matches mount points within the tree of a snapshot that is being written.
var workDirMount = regexp.MustCompile(`/\.snapshots/\d+/snapshot\.workDir(/|$)`)

// installMounts are where "elemental install" mounts what it writes and reads.
// Source: elemental-toolkit v2.3.2, pkg/constants.
var installMounts = []string{
	workingTree, recoveryDir, efiDir, "/run/elemental/state", "/run/elemental/oem", "/run/elemental/persistent",
	"/run/elemental/transition", "/run/elemental/imgsrc",
}

// ownMark is a line in each file that the agent writes to /oem: an installation copies the files under other names.
const ownMark = "# Written by elemental-agent."

// Labels of partitions, unless state.yaml has others.
const (
	recoveryLabel   = "COS_RECOVERY"
	stateLabel      = "COS_STATE"
	persistentLabel = "COS_PERSISTENT"
	oemLabel        = "COS_OEM"
)

// correlationLabel of a snapshot has the attempt for which it was written.
const correlationLabel = "correlationID"
