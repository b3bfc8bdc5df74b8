// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const (
	stateDir    = "/run/initramfs/elemental-state"
	firstDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
)

// partition of an installed host.
type partition struct{ label, size string }

// partitions in the order of the disk.
var partitions = []partition{
	{"COS_GRUB", "32M"}, {"COS_OEM", "32M"}, {"COS_RECOVERY", "512M"}, {"COS_STATE", "1G"}, {"COS_PERSISTENT", "128M"},
}

// holdHook is a cloud-init file with a toolkit stage for each moment at which a test may block the CLI.
const holdHook = `name: Hold
stages:
  before-upgrade: [{commands: ["sh /oem/hold.sh before-upgrade"]}]
  after-upgrade-chroot: [{commands: ["sh /oem/hold.sh after-upgrade-chroot"]}]
  after-upgrade: [{commands: ["sh /oem/hold.sh after-upgrade"]}]
  post-upgrade: [{commands: ["sh /oem/hold.sh post-upgrade"]}]
`

const holdScript = `if [ -e /oem/hold/$1 ]; then
  touch /oem/reached/$1
  while [ -e /oem/hold/$1 ]; do sleep 0.02; done
fi
`

// install creates the backing files of a host's partitions, as "elemental install" leaves them, with snapshot 1.
func install(dir string, kind snapshotter) {
	GinkgoHelper()
	content := filepath.Join(dir, "content")
	first := filepath.Join(content, "COS_STATE", ".snapshots", "1")
	Expect(os.MkdirAll(first, 0o755)).To(Succeed())
	tree := filepath.Join(dir, "tree")
	osimage.Run("cp", "-a", trees.base, tree)
	osimage.Write(filepath.Join(tree, "etc/os-release"), osimage.Release("v1"))
	if kind == snapper {
		osimage.Write(filepath.Join(tree, "etc/default/snapper"), "SNAPPER_CONFIGS=\"root\"\n")
		osimage.Write(filepath.Join(tree, "etc/snapper/configs/root"), "SUBVOLUME=\"/\"\nFSTYPE=\"btrfs\"\nQGROUP=\"1/0\"\nNUMBER_LIMIT=\"4\"\n")
	}
	osimage.Run("mke2fs", "-q", "-t", "ext2", "-L", "EL_SNAP1", "-d", tree, filepath.Join(first, "snapshot.img"), "64M")
	recovery := filepath.Join(content, "COS_RECOVERY", "boot")
	Expect(os.MkdirAll(recovery, 0o755)).To(Succeed())
	osimage.Run("mke2fs", "-q", "-t", "ext2", "-L", "COS_SYSTEM", "-d", tree, filepath.Join(recovery, "recovery.img"), "64M")
	Expect(os.Symlink("1/snapshot.img", filepath.Join(content, "COS_STATE", ".snapshots", "active"))).To(Succeed())
	osimage.Write(filepath.Join(content, "COS_OEM", "90_hold.yaml"), holdHook)
	osimage.Write(filepath.Join(content, "COS_OEM", "hold.sh"), holdScript)
	for _, name := range []string{"hold", "reached"} {
		Expect(os.MkdirAll(filepath.Join(content, "COS_OEM", name), 0o755)).To(Succeed())
	}
	writeEnvironments(content, kind)
	osimage.Record(content, kind.recorded(), 1, image.Image{Ref: "registry/elemental/os:v1", PlatformDigest: firstDigest})
	for _, each := range partitions {
		source := filepath.Join(content, each.label)
		Expect(os.MkdirAll(source, 0o755)).To(Succeed())
		if each.label == "COS_STATE" && kind != loopdevice {
			installSubvolumes(filepath.Join(dir, each.label), each.size, tree, filepath.Join(source, "state.yaml"))
			continue
		}
		osimage.Run("mke2fs", "-q", "-t", "ext4", "-L", each.label, "-d", source, filepath.Join(dir, each.label), each.size)
	}
	Expect(os.RemoveAll(content)).To(Succeed())
	Expect(os.RemoveAll(tree)).To(Succeed())
}

func writeEnvironments(content string, kind snapshotter) {
	GinkgoHelper()
	oem := &grub.Env{}
	oem.Set(grub.DefaultMenuEntry, "Elemental")
	if kind != loopdevice {
		oem.Set("snapshotter", "btrfs")
		oem.Set("active_snap", "1")
	}
	Expect(os.MkdirAll(filepath.Join(content, "COS_GRUB"), 0o755)).To(Succeed())
	Expect(oem.Write(filepath.Join(content, "COS_GRUB", "grub_oem_env"))).To(Succeed())
	Expect((&grub.Env{}).Write(filepath.Join(content, "COS_OEM", "grubenv"))).To(Succeed())
}

// attach gives each partition a loop device.
func attach(dir string) []string {
	GinkgoHelper()
	var loops []string
	for _, each := range partitions {
		loops = append(loops, osimage.Run("losetup", "-f", "--show", filepath.Join(dir, each.label)))
	}
	return loops
}

// detach detaches the loop devices of partitions, and those that were left attached to files in them: their backing
// files are on the file systems of the partitions' loop devices.
func detach(loops []string) {
	GinkgoHelper()
	for _, each := range leftOn(loops) {
		osimage.Run("losetup", "-d", each.device)
	}
	for _, loop := range loops {
		osimage.Run("losetup", "-d", loop)
	}
}

// attached is a loop device that is attached to a file of a machine's partition.
type attached struct{ device, file string }

// leftOn are the loop devices whose files are on partitions.
func leftOn(loops []string) []attached {
	GinkgoHelper()
	own := map[string]bool{}
	for _, loop := range loops {
		own["7:"+strings.TrimPrefix(loop, "/dev/loop")] = true
	}
	var found []attached
	for line := range strings.Lines(osimage.Run("losetup", "--list", "--noheadings", "--output", "NAME,BACK-MAJ:MIN,BACK-FILE")) {
		if fields := strings.Fields(line); len(fields) >= 3 && own[fields[1]] {
			found = append(found, attached{device: fields[0], file: strings.Join(fields[2:], " ")})
		}
	}
	return found
}
