// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package standin_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/standin"
)

// The suites that need root show the rest: test/native above all.
var _ = Describe("The stand-in for the elemental CLI", func() {
	newMachine := func() *standin.Machine {
		log := logrus.New()
		log.SetOutput(GinkgoWriter)
		return standin.New(log)
	}

	Describe("writes the tree of an image", func() {
		var dir string

		BeforeEach(func() { dir = filepath.Join(GinkgoT().TempDir(), "tree") })

		// deploy pushes an image of layers, and writes its tree.
		deploy := func(layers ...[]tar.Header) error {
			GinkgoHelper()
			registry, err := image.Start(image.Options{PlainHTTP: true})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(registry.Close)
			var made []v1.Layer
			for _, each := range layers {
				made = append(made, layer(each))
			}
			pushed := osimage.Push(GinkgoT().Context(), registry, "v1", made...)
			system, err := source.Parse(pushed.URI())
			Expect(err).NotTo(HaveOccurred())
			digest, err := newMachine().Deploy(GinkgoT().Context(), system, dir)
			if err == nil {
				Expect(digest).To(Equal(pushed.Digest))
			}
			return err
		}
		at := func(path string) string { return filepath.Join(dir, path) }

		It("with modes, times and links, and what the last layer has in place of another", func() {
			Expect(deploy(
				[]tar.Header{
					{Name: "usr/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "usr/bin/", Typeflag: tar.TypeDir, Mode: 0o755},
					{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"},
					{Name: "usr/bin/first", Typeflag: tar.TypeReg, Mode: 0o4755}, {Name: "usr/bin/second", Typeflag: tar.TypeLink, Linkname: "usr/bin/first"}, {Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o700},
					{Name: "etc/gone", Typeflag: tar.TypeReg, Mode: 0o600}, {Name: "was-file", Typeflag: tar.TypeReg, Mode: 0o600},
				},
				[]tar.Header{
					{Name: "etc/.wh.gone", Typeflag: tar.TypeReg},
					{Name: "was-file/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "pipe", Typeflag: tar.TypeFifo, Mode: 0o640},
				},
			)).To(Succeed())
			first, err := os.Stat(at("bin/first"))
			Expect(err).NotTo(HaveOccurred())
			Expect(first.Mode()).To(Equal(0o755 | os.ModeSetuid))
			Expect(first.ModTime()).To(BeTemporally("==", written))
			second, err := os.Stat(at("usr/bin/second"))
			Expect(err).NotTo(HaveOccurred())
			Expect(os.SameFile(first, second)).To(BeTrue())
			for path, mode := range map[string]os.FileMode{"etc": 0o700 | os.ModeDir, "was-file": 0o755 | os.ModeDir, "pipe": 0o640 | os.ModeNamedPipe, "tmp": 0o777 | os.ModeSticky | os.ModeDir} {
				info, err := os.Stat(at(path))
				Expect(err).NotTo(HaveOccurred())
				Expect(info.Mode()).To(Equal(mode), path)
			}
			Expect(at("etc/gone")).NotTo(BeAnExistingFile())
		})

		It("and no link to what is beside it", func() {
			osimage.Write(filepath.Join(filepath.Dir(dir), "beside"), "")
			_ = deploy([]tar.Header{{Name: "file", Typeflag: tar.TypeLink, Linkname: "../beside"}})
			Expect(at("file")).NotTo(BeAnExistingFile())
		})
	})

	It("finds the partitions as udev tells of them, and where they are mounted", func() {
		root := GinkgoT().TempDir()
		osimage.Files{
			"sys/block/sda/queue/dev": "", "sys/block/sda/sda1/dev": "8:1\n", "sys/block/sda/sda2/dev": "8:2\n",
			"run/udev/data/b8:1": "E:ID_FS_LABEL=COS_STATE\nE:ID_FS_TYPE=ext4\n", "run/udev/data/b8:2": "E:ID_PART_ENTRY_NAME=recovery\n",
			"proc/self/mounts": "/dev/sda1 /state ext4 rw 0 0\n/dev/sda1 /again ext4 rw 0 0\n",
		}.WriteTo(root)
		GinkgoT().Setenv("GHW_CHROOT", root)
		machine := newMachine()
		state, _ := machine.Partition(disk.LabelState)
		Expect(state).To(Equal(disk.Mount{Device: "/dev/sda1", Target: "/state"}))
		recovery, _ := machine.Partition(disk.LabelRecovery)
		Expect(recovery).To(Equal(disk.Mount{Device: "/dev/sda2", Target: disk.RecoveryDir}))
		_, found := machine.Partition(disk.LabelOEM)
		Expect(found).To(BeFalse())
		Expect(machine.File(disk.LabelState, "x", "y")).To(Equal("/state/x/y"))
	})

	DescribeTable("copies kernel and initramfs of a tree", func(files osimage.Files, said string, names ...string) {
		tree, dir := GinkgoT().TempDir(), GinkgoT().TempDir()
		files.WriteTo(tree)
		err := newMachine().CopyKernel(tree, dir)
		if said != "" {
			Expect(err).To(MatchError(ContainSubstring(said)))
			return
		}
		Expect(err).NotTo(HaveOccurred())
		entries, err := os.ReadDir(dir)
		Expect(err).NotTo(HaveOccurred())
		found := []string{}
		for _, each := range entries {
			found = append(found, each.Name())
		}
		Expect(found).To(ConsistOf(names))
	},
		Entry("with the names by which GRUB finds them", osimage.Files{"boot/vmlinuz-6.4.0": "k", "boot/initrd-6.4.0": "i", "lib/modules/6.4.0/x": ""}, "",
			"vmlinuz-6.4.0", "initrd-6.4.0", "vmlinuz", "linux", "initrd"),
		Entry("that are links", osimage.Files{"boot/vmlinuz": "->vmlinuz-6.4.0", "boot/vmlinuz-6.4.0": "k", "boot/initrd": "->/boot/i", "boot/i": "", "lib/modules/6.4.0/x": ""}, "",
			"vmlinuz-6.4.0", "i", "vmlinuz", "linux", "initrd"),
		Entry("not without a kernel", osimage.Files{"boot/initrd": "i"}, "no Kernel file found"),
		Entry("not without its modules", osimage.Files{"boot/vmlinuz-6.4.0": "k", "boot/initrd": "i", "lib/modules/6.5.0/x": ""}, "could not determine the version of kernel"),
		Entry("not without an initramfs", osimage.Files{"boot/vmlinuz-6.4.0": "k", "lib/modules/6.4.0/x": ""}, "No initrd file found"),
	)
})

// written is the time of all files of an image.
var written = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// layer of empty files, which belong to whoever runs the specs.
func layer(files []tar.Header) v1.Layer {
	GinkgoHelper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, header := range files {
		header.ModTime, header.Uid, header.Gid = written, os.Getuid(), os.Getgid()
		Expect(writer.WriteHeader(&header)).To(Succeed())
	}
	Expect(writer.Close()).To(Succeed())
	made, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	Expect(err).NotTo(HaveOccurred())
	return made
}
