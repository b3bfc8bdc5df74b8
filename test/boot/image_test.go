// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// theTree is the tree of every OS image, and its layer.
var theTree struct {
	dir   string
	layer v1.Layer
}

// software is a file system with the programs that all images have in /usr, below their own.
var software string

// Programs of this machine: what the toolkit's stages find in the tree of an image, and what the agent and the CLI use.
var (
	treePrograms     = []string{"grep"}
	softwarePrograms = []string{
		"bash", "dash", "basename", "blkid", "cat", "cp", "df", "e2fsck", "findmnt", "fsck", "grep", "grub-editenv", "ip", "losetup", "ls", "lsblk",
		"mkdir", "mke2fs", "mount", "mv", "nsenter", "rm", "rsync", "sleep", "sync", "touch", "tune2fs", "umount", "unshare",
	}
)

// Drivers of the initramfs, without those that they need.
var drivers = []string{
	"virtio_pci", "virtio_blk", "virtio_net", "ext4", "crc32c_generic", "vfat", "nls_cp437", "nls_ascii", "loop", "overlay", "softdog", "9pnet_virtio", "9p",
}

// files of an image.
type files = osimage.Files

func release(version string) files {
	return files{"etc/os-release": osimage.Release(version)}
}

// prepareTree makes the tree, with a kernel and what "elemental init" adds to an image. The units that it adds have nobody to start them.
func prepareTree() {
	GinkgoHelper()
	theTree.dir = filepath.Join(GinkgoT().TempDir(), "tree")
	osimage.MakeTree(theTree.dir)
	osimage.Run("testdata/programs.sh", append([]string{theTree.dir}, treePrograms...)...)
	Expect(os.RemoveAll(filepath.Join(theTree.dir, "usr/share/data"))).To(Succeed()) // the kernel is large enough
	for _, path := range []string{"passwd", "group", "nsswitch.conf", "mke2fs.conf"} {
		osimage.Run("cp", "-a", filepath.Join("/etc", path), filepath.Join(theTree.dir, "etc", path))
	}
	files{"etc/os-release": "NAME=init\n"}.WriteTo(theTree.dir)
	osimage.Run("cp", built("lab/guest"), filepath.Join(theTree.dir, "usr/bin/systemctl"))
	osimage.Run("cp", osimage.CLI(root), filepath.Join(theTree.dir, "usr/bin/elemental"))
	null := filepath.Join(theTree.dir, "dev/null")
	osimage.Run("mknod", null, "c", "1", "3")
	osimage.Run("chroot", theTree.dir, "/usr/bin/elemental", "init", "--force", "--mkinitrd=false")
	for _, path := range []string{null, filepath.Join(theTree.dir, "usr/bin/elemental"), filepath.Join(theTree.dir, "usr/bin/systemctl")} {
		Expect(os.Remove(path)).To(Succeed())
	}
	kernels, err := filepath.Glob(filepath.Join(root, "bin/kernel/boot/vmlinuz-*"))
	Expect(err).NotTo(HaveOccurred())
	Expect(kernels).To(HaveLen(1), "run hack/test/boot-packages.sh")
	osimage.Run("cp", kernels[0], filepath.Join(theTree.dir, "boot/vmlinuz"))
	prepareInitrd(filepath.Join(theTree.dir, "boot/initrd"))
	theTree.layer = osimage.LayerOf(theTree.dir)
}

// prepareInitrd writes an initramfs: the guest's init, and drivers with a list of the order in which they are loaded.
func prepareInitrd(archive string) {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "initrd")
	osimage.MakeDirs(filepath.Join(dir, "modules"), filepath.Join(dir, "dev"))
	osimage.Run("cp", built("lab/guest"), filepath.Join(dir, "init"))
	versions, err := os.ReadDir(filepath.Join(root, "bin/kernel/lib/modules"))
	Expect(err).NotTo(HaveOccurred())
	var order []string
	added := map[string]bool{}
	for _, driver := range drivers {
		found := osimage.Run("modprobe", "--dirname", filepath.Join(root, "bin/kernel"), "--set-version", versions[0].Name(), "--show-depends", driver)
		for line := range strings.Lines(found) {
			fields := strings.Fields(line)
			if fields[0] != "insmod" || added[fields[1]] {
				continue
			}
			added[fields[1]] = true
			osimage.Run("cp", fields[1], filepath.Join(dir, "modules"))
			order = append(order, filepath.Base(fields[1]))
		}
	}
	osimage.Write(filepath.Join(dir, "modules/order"), strings.Join(order, "\n"))
	osimage.Run("sh", "-c", fmt.Sprintf("cd %s && find . | cpio -o -H newc --quiet | gzip -1 >%s", dir, archive))
}

// prepareSoftware makes the file system of the programs.
func prepareSoftware() {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "software")
	osimage.Run("testdata/programs.sh", append([]string{dir}, softwarePrograms...)...)
	usr := filepath.Join(dir, "usr")
	osimage.MakeDirs(filepath.Join(usr, "lib/elemental"))
	for to, from := range map[string]string{
		"sbin/os-init": built("lab/guest"), "bin/systemctl": built("lab/guest"), "bin/elemental": built("lab/guest"),
		"lib/elemental/elemental": osimage.CLI(root), "sbin/elemental-agent": built("elemental-agent"),
	} {
		osimage.Run("cp", "--dereference", from, filepath.Join(usr, to))
	}
	for link, to := range map[string]string{
		"bin/sh": "dash", "bin/grub2-editenv": "grub-editenv", "sbin/mkfs.ext2": "../bin/mke2fs", "sbin/mkfs.ext4": "../bin/mke2fs",
	} {
		Expect(os.Symlink(to, filepath.Join(usr, link))).To(Succeed())
	}
	software = filepath.Join(GinkgoT().TempDir(), "software.img")
	osimage.Run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", usr, software, "256M")
}

// push pushes an OS image: the tree, and these files.
func push(ctx context.Context, version string, more files) image.Image {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "files")
	release(version).WriteTo(dir)
	more.WriteTo(dir)
	return osimage.Push(ctx, registry, version, theTree.layer, osimage.LayerOf(dir))
}

// bootAssessment is what the toolkit adds to GRUB's configuration at installation, as "elemental init" has written it.
func bootAssessment() string {
	GinkgoHelper()
	var config struct {
		Stages map[string][]struct {
			Files []struct{ Path, Content string }
		}
	}
	Expect(yaml.Unmarshal([]byte(osimage.Read(filepath.Join(theTree.dir, "system/oem/08_boot_assessment.yaml"))), &config)).To(Succeed())
	for _, stage := range config.Stages["after-install-chroot"] {
		for _, file := range stage.Files {
			return file.Content
		}
	}
	Fail("elemental init has written no boot assessment for GRUB")
	return ""
}
