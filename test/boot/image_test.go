// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
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

// files of an image, by path; a content that begins with "->" is the target of a link.
type files map[string]string

func (f files) writeTo(dir string) {
	GinkgoHelper()
	for path, content := range f {
		full := filepath.Join(dir, path)
		if target, isLink := strings.CutPrefix(content, "->"); isLink {
			makeDirs(filepath.Dir(full))
			Expect(os.Symlink(target, full)).To(Succeed())
			continue
		}
		write(full, content)
	}
}

func release(version string) files {
	return files{"etc/os-release": fmt.Sprintf("NAME=\"Elemental test\"\nID=elemental-test\nPRETTY_NAME=%q\n", version)}
}

// prepareTree makes the tree, with a kernel and what "elemental init" adds to an image. The units that it adds have nobody to start them.
func prepareTree() {
	GinkgoHelper()
	theTree.dir = filepath.Join(GinkgoT().TempDir(), "tree")
	run("../native/testdata/tree.sh", theTree.dir)
	run("testdata/programs.sh", append([]string{theTree.dir}, treePrograms...)...)
	Expect(os.RemoveAll(filepath.Join(theTree.dir, "usr/share/data"))).To(Succeed()) // the kernel is large enough
	for _, path := range []string{"passwd", "group", "nsswitch.conf", "mke2fs.conf"} {
		run("cp", "-a", filepath.Join("/etc", path), filepath.Join(theTree.dir, "etc", path))
	}
	files{"etc/os-release": "NAME=init\n"}.writeTo(theTree.dir)
	run("cp", built("lab/guest"), filepath.Join(theTree.dir, "usr/bin/systemctl"))
	run("cp", os.Getenv(binEnv), filepath.Join(theTree.dir, "usr/bin/elemental"))
	null := filepath.Join(theTree.dir, "dev/null")
	run("mknod", null, "c", "1", "3")
	run("chroot", theTree.dir, "/usr/bin/elemental", "init", "--force", "--mkinitrd=false")
	for _, path := range []string{null, filepath.Join(theTree.dir, "usr/bin/elemental"), filepath.Join(theTree.dir, "usr/bin/systemctl")} {
		Expect(os.Remove(path)).To(Succeed())
	}
	kernels, err := filepath.Glob(filepath.Join(root, "bin/kernel/boot/vmlinuz-*"))
	Expect(err).NotTo(HaveOccurred())
	Expect(kernels).To(HaveLen(1), "run hack/test/boot-packages.sh")
	run("cp", kernels[0], filepath.Join(theTree.dir, "boot/vmlinuz"))
	prepareInitrd(filepath.Join(theTree.dir, "boot/initrd"))
	theTree.layer = layerOf(theTree.dir)
}

// prepareInitrd writes an initramfs: the guest's init, and drivers with a list of the order in which they are loaded.
func prepareInitrd(archive string) {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "initrd")
	makeDirs(filepath.Join(dir, "modules"), filepath.Join(dir, "dev"))
	run("cp", built("lab/guest"), filepath.Join(dir, "init"))
	versions, err := os.ReadDir(filepath.Join(root, "bin/kernel/lib/modules"))
	Expect(err).NotTo(HaveOccurred())
	var order []string
	added := map[string]bool{}
	for _, driver := range drivers {
		found := run("modprobe", "--dirname", filepath.Join(root, "bin/kernel"), "--set-version", versions[0].Name(), "--show-depends", driver)
		for line := range strings.Lines(found) {
			fields := strings.Fields(line)
			if fields[0] != "insmod" || added[fields[1]] {
				continue
			}
			added[fields[1]] = true
			run("cp", fields[1], filepath.Join(dir, "modules"))
			order = append(order, filepath.Base(fields[1]))
		}
	}
	write(filepath.Join(dir, "modules/order"), strings.Join(order, "\n"))
	run("sh", "-c", fmt.Sprintf("cd %s && find . | cpio -o -H newc --quiet | gzip -1 >%s", dir, archive))
}

// prepareSoftware makes the file system of the programs.
func prepareSoftware() {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "software")
	run("testdata/programs.sh", append([]string{dir}, softwarePrograms...)...)
	usr := filepath.Join(dir, "usr")
	makeDirs(filepath.Join(usr, "lib/elemental"))
	for to, from := range map[string]string{
		"sbin/os-init": built("lab/guest"), "bin/systemctl": built("lab/guest"), "bin/elemental": built("lab/guest"),
		"lib/elemental/elemental": os.Getenv(binEnv), "sbin/elemental-agent": built("elemental-agent"),
	} {
		run("cp", "--dereference", from, filepath.Join(usr, to))
	}
	for link, to := range map[string]string{
		"bin/sh": "dash", "bin/grub2-editenv": "grub-editenv", "sbin/mkfs.ext2": "../bin/mke2fs", "sbin/mkfs.ext4": "../bin/mke2fs",
	} {
		Expect(os.Symlink(to, filepath.Join(usr, link))).To(Succeed())
	}
	software = filepath.Join(GinkgoT().TempDir(), "software.img")
	run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", usr, software, "256M")
}

func layerOf(dir string) v1.Layer {
	GinkgoHelper()
	archive := dir + ".tar"
	run("tar", "-C", dir, "--sort=name", "-cf", archive, ".")
	layer, err := tarball.LayerFromFile(archive)
	Expect(err).NotTo(HaveOccurred())
	return layer
}

// push pushes an OS image: the tree, and these files.
func push(ctx context.Context, version string, more files) image.Image {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "files")
	release(version).writeTo(dir)
	more.writeTo(dir)
	built, err := mutate.AppendLayers(empty.Image, theTree.layer, layerOf(dir))
	Expect(err).NotTo(HaveOccurred())
	config, err := built.ConfigFile()
	Expect(err).NotTo(HaveOccurred())
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	built, err = mutate.ConfigFile(built, config)
	Expect(err).NotTo(HaveOccurred())
	pushed := image.Image{Repository: "elemental/os", Tag: version, Ref: registry.Host() + "/elemental/os:" + version}
	reference, err := name.ParseReference(pushed.Ref)
	Expect(err).NotTo(HaveOccurred())
	Expect(remote.Write(reference, built, remote.WithTransport(registry.Transport()), remote.WithContext(ctx))).To(Succeed())
	digest, err := built.Digest()
	Expect(err).NotTo(HaveOccurred())
	pushed.Digest, pushed.PlatformDigest = digest.String(), digest.String()
	return pushed
}

// bootAssessment is what the toolkit adds to GRUB's configuration at installation, as "elemental init" has written it.
func bootAssessment() string {
	GinkgoHelper()
	var config struct {
		Stages map[string][]struct {
			Files []struct{ Path, Content string }
		}
	}
	Expect(yaml.Unmarshal([]byte(read(filepath.Join(theTree.dir, "system/oem/08_boot_assessment.yaml"))), &config)).To(Succeed())
	for _, stage := range config.Stages["after-install-chroot"] {
		for _, file := range stage.Files {
			return file.Content
		}
	}
	Fail("elemental init has written no boot assessment for GRUB")
	return ""
}
