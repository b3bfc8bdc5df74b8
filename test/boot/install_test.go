// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const mib = 1 << 20

// partition of the disk, in its order. The first has no file system.
type partition struct {
	label, kind string
	// megabytes is its size in MiB.
	megabytes int
}

var partitions = []partition{
	{"bios", "21686148-6449-6E6F-744E-656564454649", 1}, {"COS_GRUB", "U", 34}, {"COS_OEM", "L", 16}, {"COS_RECOVERY", "L", 16},
	{"COS_STATE", "L", 400}, {"COS_PERSISTENT", "L", 160},
}

// start of a partition in MiB.
func start(number int) int {
	at := 1
	for _, each := range partitions[:number-1] {
		at += each.megabytes
	}
	return at
}

// grubModules are built into GRUB.
var grubModules = []string{
	"part_gpt", "ext2", "fat", "loopback", "normal", "configfile", "search", "search_label", "loadenv", "test", "echo", "linux", "minicmd", "sleep",
	"reboot", "halt", "serial", "terminal", "boot", "all_video", "gfxterm", "squash4",
}

// install writes a disk as "elemental install" leaves it, with one snapshot, with the files of its image, and what is the host's own in /var/lib. It boots
// by BIOS and UEFI.
func install(path string, installed image.Image, ofImage, own files) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	content := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	for _, each := range partitions {
		osimage.MakeDirs(content(each.label))
	}
	installSnapshot(content("COS_STATE", ".snapshots"), ofImage)
	osimage.Record(dir, state.LoopDevice(), 1, installed)
	boot := &grub.Env{}
	for name, value := range map[string]string{
		grub.DefaultMenuEntry: "Elemental", "state_label": "COS_STATE", "oem_label": "COS_OEM", "recovery_label": "COS_RECOVERY", "persistent_label": "COS_PERSISTENT",
		grub.DefaultFallback: "0 1", grub.PassiveSnapshots: "",
	} {
		boot.Set(name, value)
	}
	Expect(boot.Write(content("COS_GRUB", "grub_oem_env"))).To(Succeed())
	Expect((&grub.Env{}).Write(content("COS_OEM", "grubenv"))).To(Succeed())
	own.WriteTo(content("COS_PERSISTENT", "var/lib"))
	files{
		"EFI/ELEMENTAL/grub.cfg": osimage.Read(filepath.Join(theTree.dir, "etc/elemental/grub.cfg")),
		"grubcustom/custom.cfg":  osimage.Read("testdata/custom.cfg"), "grubcustom/bootassessment.cfg": bootAssessment(),
	}.WriteTo(content("COS_GRUB"))
	format(path, content)
	installGRUB(path, content("COS_GRUB"))
}

func installSnapshot(snapshots string, ofImage files) {
	GinkgoHelper()
	tree := filepath.Join(GinkgoT().TempDir(), "tree")
	osimage.Run("cp", "-a", theTree.dir, tree)
	release("v1").WriteTo(tree)
	ofImage.WriteTo(tree)
	osimage.MakeDirs(filepath.Join(snapshots, "1"))
	osimage.Run("mke2fs", "-q", "-t", "ext2", "-L", "EL_SNAP1", "-d", tree, filepath.Join(snapshots, "1/snapshot.img"), "64M")
	Expect(os.Symlink("1/snapshot.img", filepath.Join(snapshots, "active"))).To(Succeed())
	Expect(os.RemoveAll(tree)).To(Succeed())
}

// format makes the partitions and the file systems but for the EFI partition's. Debian's GRUB does not read ext4 with all its features.
func format(path string, content func(...string) string) {
	GinkgoHelper()
	Expect(os.WriteFile(path, nil, 0o600)).To(Succeed())
	last := len(partitions)
	Expect(os.Truncate(path, int64(start(last)+partitions[last-1].megabytes+1)*mib)).To(Succeed())
	table := "label: gpt\n"
	for i, each := range partitions {
		table += fmt.Sprintf("start=%dMiB,size=%dMiB,type=%s\n", start(i+1), each.megabytes, each.kind)
	}
	osimage.Run("sh", "-c", fmt.Sprintf("sfdisk -q %s <<'TABLE'\n%sTABLE", path, table))
	for i, each := range partitions {
		if each.kind != "L" {
			continue
		}
		osimage.Run("mke2fs", "-q", "-t", "ext4", "-O", "^metadata_csum_seed,^orphan_file", "-L", each.label, "-d", content(each.label),
			"-E", fmt.Sprintf("offset=%d,root_owner=0:0", start(i+1)*mib), path, fmt.Sprintf("%dM", each.megabytes))
	}
}

// installGRUB makes the EFI partition with GRUB for UEFI, and installs GRUB for BIOS, which the toolkit does not support.
func installGRUB(path, content string) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	core := filepath.Join(dir, "core.img")
	osimage.Run("grub-mkimage", append([]string{"-O", "i386-pc", "-c", "testdata/early.cfg", "-p", "/grub", "-o", core, "biosdisk"}, grubModules...)...)
	osimage.MakeDirs(filepath.Join(content, "EFI/BOOT"))
	osimage.Run("grub-mkimage", append([]string{"-O", "x86_64-efi", "-c", "testdata/early.cfg", "-p", "/grub", "-o", filepath.Join(content, "EFI/BOOT/BOOTX64.EFI")}, grubModules...)...)
	efi := fmt.Sprintf("%s@@%dM", path, start(2))
	osimage.Run("mformat", "-i", efi, "-T", fmt.Sprint(partitions[1].megabytes*mib/512), "-h", "64", "-s", "32", "-v", "COS_GRUB", "::")
	osimage.Run("sh", "-c", fmt.Sprintf("mcopy -s -i %s %s/* ::", efi, content))
	embed(path, osimage.Read("/usr/lib/grub/i386-pc/boot.img"), osimage.Read(core))
}

// embed writes GRUB to the first sector and to the first partition, as grub-bios-setup does, which needs a block device: the first sector gets
// the place of the core, and the core that of its own second sector.
// Source: GRUB, boot.S and diskboot.S.
func embed(path, boot, core string) {
	GinkgoHelper()
	const sector = 512
	first := uint64(start(1) * mib / sector)
	head, body := []byte(boot), append([]byte(core), make([]byte, sector)...)
	body = body[:(len(core)+sector-1)/sector*sector]
	Expect(len(body)).To(BeNumerically("<=", mib), "GRUB fits into its partition")
	binary.LittleEndian.PutUint64(head[0x5c:], first)
	head[0x64] = 0xff
	copy(head[0x66:], []byte{0x90, 0x90})
	var list bytes.Buffer
	Expect(binary.Write(&list, binary.LittleEndian, struct {
		At             uint64
		Length, Memory uint16
	}{first + 1, uint16(len(body)/sector - 1), 0x820})).To(Succeed())
	copy(body[0x1f4:], list.Bytes())
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(file.Close()).To(Succeed()) }()
	_, err = file.WriteAt(head[:440], 0)
	Expect(err).NotTo(HaveOccurred())
	_, err = file.WriteAt(body, int64(first*sector))
	Expect(err).NotTo(HaveOccurred())
}
