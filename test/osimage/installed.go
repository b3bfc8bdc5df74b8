// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// installedAt is when the host was installed.
const installedAt = "2026-11-01T03:04:05Z"

// Record writes state.yaml as "elemental install" leaves it, with one snapshot, into the directories of a disk's partitions, which have their labels.
func Record(disk string, by state.Snapshotter, snapshot int, from image.Image) {
	GinkgoHelper()
	installed := func(label, fs string) *state.System {
		return &state.System{Source: from.URI(), Digest: from.PlatformDigest, Active: fs == "", Label: label, FS: fs, FromAction: state.ActionInstall, Date: installedAt}
	}
	file := state.File{
		Date:        installedAt,
		Snapshotter: by,
		EFI:         &state.Partition{Label: "COS_GRUB"}, OEM: &state.Partition{Label: "COS_OEM"},
		Persistent: &state.Partition{Label: "COS_PERSISTENT"},
		Recovery:   &state.Partition{Label: "COS_RECOVERY", Recovery: installed("COS_SYSTEM", "squashfs")},
		State:      &state.Partition{Label: "COS_STATE", Snapshots: map[int]*state.System{snapshot: installed("", "")}},
	}
	MakeDirs(filepath.Join(disk, "COS_RECOVERY"))
	Expect(file.Write(filepath.Join(disk, "COS_STATE", "state.yaml"), filepath.Join(disk, "COS_RECOVERY", "state.yaml"))).To(Succeed())
}
