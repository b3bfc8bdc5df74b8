// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Images of Pods.
const (
	pauseImage = "localhost/pause:1"
	webImage   = "registry.example.com/web:1"
	// stubbornImage ignores SIGTERM.
	stubbornImage = "localhost/stubborn:1"
)

// software is the directory with the programs and units that all hosts have in /usr, below the files of their images.
var software string

func prepareSoftware() {
	GinkgoHelper()
	software = filepath.Join(GinkgoT().TempDir(), "usr")
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	for to, from := range map[string]string{
		"bin/elemental": os.Getenv(binEnv), "bin/kubelet": built("tools/kubelet"), "bin/" + kubeadmName: self, "sbin/elemental-agent": built("elemental-agent"),
	} {
		makeDirs(filepath.Join(software, filepath.Dir(to)))
		run("cp", "--dereference", from, filepath.Join(software, to))
	}
	Expect(os.Symlink("grub-editenv", filepath.Join(software, "bin/grub2-editenv"))).To(Succeed())
	units := filepath.Join(software, "lib/systemd/system")
	makeDirs(units, filepath.Join(software, "lib/lab"))
	copyTo(units, filepath.Join(root, "hack/os/files/kubeadm/usr/lib/systemd/system/*"))
	copyTo(units, filepath.Join(root, "agent/units/*.service"))
	copyTo(units, "testdata/units/*")
	copyTo(filepath.Join(software, "lib/lab"), "testdata/scripts/*")
	copyTo(filepath.Join(software, "lib/lab"), "testdata/kubelet.yaml")
	packPods(filepath.Join(software, "lib/lab/pods.tar"))
}

// copyTo copies the files that match a pattern into a directory.
func copyTo(dir, pattern string) {
	GinkgoHelper()
	found, err := filepath.Glob(pattern)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).NotTo(BeEmpty(), pattern)
	run("cp", append(append([]string{"-r"}, found...), dir)...)
}

// packPods writes an archive with the images of Pods, each with the program pod alone.
func packPods(archive string) {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "pod")
	makeDirs(dir)
	run("cp", built("lab/pod"), filepath.Join(dir, "pod"))
	layer := layerOf(dir)
	images := map[name.Tag]v1.Image{}
	for tag, command := range map[string]string{pauseImage: "/pod", webImage: "/pod", stubbornImage: "/pod stubborn"} {
		built, err := mutate.AppendLayers(empty.Image, layer)
		Expect(err).NotTo(HaveOccurred())
		config, err := forThisMachine(built).ConfigFile()
		Expect(err).NotTo(HaveOccurred())
		config = config.DeepCopy()
		config.Config.Entrypoint = strings.Fields(command)
		built, err = mutate.ConfigFile(built, config)
		Expect(err).NotTo(HaveOccurred())
		parsed, err := name.NewTag(tag)
		Expect(err).NotTo(HaveOccurred())
		images[parsed] = built
	}
	Expect(tarball.MultiWriteToFile(archive, images)).To(Succeed())
}
