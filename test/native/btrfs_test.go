// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// snapshotter of a machine's CLI.
type snapshotter string

const (
	loopdevice snapshotter = "loopdevice"
	// subvolumes are btrfs subvolumes that the CLI manages itself; with snapper it leaves that to snapper.
	subvolumes snapshotter = "btrfs"
	snapper    snapshotter = "snapper"
)

// recorded is the snapshotter as recorded in state.yaml.
func (s snapshotter) recorded() state.Snapshotter {
	if s == loopdevice {
		return state.LoopDevice()
	}
	with := s == snapper
	return state.Snapshotter{Type: "btrfs", MaxSnaps: 4, Config: state.SnapshotterConfig{Snapper: &with}}
}

// firstInfo is what the toolkit writes for its first snapshot.
const firstInfo = `<snapshot>
  <type>single</type>
  <num>1</num>
  <date>2026-01-02 03:04:05</date>
  <cleanup>number</cleanup>
  <description>first root filesystem</description>
</snapshot>`

// installSubvolumes creates the state partition with btrfs, with the tree in snapshot 1.
func installSubvolumes(file, size, tree, recorded string) {
	GinkgoHelper()
	osimage.Run("truncate", "-s", size, file)
	osimage.Run("mkfs.btrfs", "-q", "-L", "COS_STATE", file)
	at := file + ".mounted"
	Expect(os.Mkdir(at, 0o755)).To(Succeed())
	osimage.Run("mount", "-o", "loop", file, at)
	defer func() { osimage.Run("umount", at) }()
	osimage.Run("btrfs", "quota", "enable", at)
	first := filepath.Join(at, "@/.snapshots/1")
	for _, each := range []string{"@", "@/.snapshots"} {
		osimage.Run("btrfs", "subvolume", "create", filepath.Join(at, each))
	}
	Expect(os.Mkdir(first, 0o755)).To(Succeed())
	osimage.Run("btrfs", "subvolume", "create", filepath.Join(first, "snapshot"))
	osimage.Run("btrfs", "qgroup", "create", "1/0", at)
	osimage.Run("cp", "-a", tree+"/.", filepath.Join(first, "snapshot"))
	Expect(os.MkdirAll(filepath.Join(first, "snapshot", ".snapshots"), 0o755)).To(Succeed())
	osimage.Write(filepath.Join(first, "info.xml"), firstInfo)
	osimage.Run("btrfs", "property", "set", filepath.Join(first, "snapshot"), "ro", "true")
	osimage.Run("btrfs", "subvolume", "set-default", filepath.Join(first, "snapshot"))
	osimage.Run("cp", recorded, filepath.Join(at, "@", "state.yaml"))
}

var defaultSubvolume = regexp.MustCompile(`path @/\.snapshots/(\d+)/snapshot`)

// defaultOf is the snapshot that is the default subvolume of a mounted file system.
func defaultOf(path string) string {
	GinkgoHelper()
	match := defaultSubvolume.FindStringSubmatch(osimage.Run("btrfs", "subvolume", "get-default", path))
	Expect(match).NotTo(BeNil())
	return match[1]
}

// expectSubvolumes asserts that exactly these snapshots exist, the first of them the default for the file system and
// for GRUB.
func (m *machine) expectSubvolumes(ids ...string) {
	GinkgoHelper()
	wanted := map[string][]string{}
	for _, id := range ids {
		wanted[id] = []string{"info.xml", "snapshot"}
	}
	found := m.snapshots()
	for _, names := range found {
		slices.Sort(names)
	}
	Expect(found).To(Equal(wanted))
	Expect(defaultOf(m.path(stateDir))).To(Equal(ids[0]))
	Expect(m.environment("/run/elemental/efi/grub_oem_env").Get("active_snap")).To(Equal(ids[0]))
	for _, id := range ids {
		content, err := os.ReadFile(m.path(filepath.Join(stateDir, ".snapshots", id, "info.xml")))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(content)).NotTo(ContainSubstring("in-progress"))
	}
}
