// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// theTree is the tree of every OS image, and its layer.
var theTree struct {
	dir   string
	layer v1.Layer
}

// osFiles of an image, by path; a content that begins with "->" is the target of a link.
type osFiles map[string]string

// writeTo writes the files into a tree, with mode 0755.
func (f osFiles) writeTo(dir string) {
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

func release(version string) string {
	return fmt.Sprintf("NAME=\"Elemental test\"\nID=elemental-test\nPRETTY_NAME=%q\n", version)
}

// fromMachine is what the OS takes of /etc of this machine.
var fromMachine = []string{"passwd", "group", "nsswitch.conf", "ld.so.cache", "alternatives", "pam.d", "dbus-1", "security", "mke2fs.conf", "login.defs"}

// enabled are the units that are started, by target.
var enabled = map[string][]string{
	"sysinit.target":        {"lab-initramfs.service"},
	"network-online.target": {"systemd-networkd-wait-online.service"},
	"multi-user.target": {
		"elemental-setup-boot.service", "elemental-setup-network.service", "elemental-boot-assessment.service", "elemental-agent.service",
		"systemd-networkd.service", "containerd.service", "kubelet.service", "lab-images.service",
	},
}

// prepareTree makes the tree. Programs and units that all images have in common are in the software instead.
func prepareTree() {
	GinkgoHelper()
	theTree.dir = filepath.Join(GinkgoT().TempDir(), "tree")
	run("../native/testdata/tree.sh", theTree.dir)
	makeDirs(filepath.Join(theTree.dir, "root"), filepath.Join(theTree.dir, "home"), filepath.Join(theTree.dir, "srv"), filepath.Join(theTree.dir, "opt"))
	Expect(os.Remove(filepath.Join(theTree.dir, "etc/hostname"))).To(Succeed())
	for _, path := range fromMachine {
		run("cp", "-a", filepath.Join("/etc", path), filepath.Join(theTree.dir, "etc", path))
	}
	files := osFiles{
		"etc/ssl/certs/.keep": "", "etc/containerd/config.toml": read("testdata/containerd.toml"), "etc/cni/net.d/10-pods.conflist": read("testdata/cni.conflist"),
		// Nobody logs in.
		"etc/systemd/system/getty.target": "->/dev/null", "etc/systemd/system/console-getty.service": "->/dev/null",
	}
	for target, units := range enabled {
		for _, unit := range units {
			files[filepath.Join("etc/systemd/system", target+".wants", unit)] = "->/usr/lib/systemd/system/" + unit
		}
	}
	files.writeTo(theTree.dir)
	theTree.layer = layerOf(theTree.dir)
}

func layerOf(dir string) v1.Layer {
	GinkgoHelper()
	archive := dir + ".tar"
	run("tar", "-C", dir, "--sort=name", "-cf", archive, ".")
	layer, err := tarball.LayerFromFile(archive)
	Expect(err).NotTo(HaveOccurred())
	return layer
}

// push pushes an OS image: the tree and these files.
func push(ctx context.Context, registry *image.Registry, version string, more osFiles) image.Image {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "files")
	osFiles{"etc/os-release": release(version)}.writeTo(dir)
	more.writeTo(dir)
	built, err := mutate.AppendLayers(empty.Image, theTree.layer, layerOf(dir))
	Expect(err).NotTo(HaveOccurred())
	built = forThisMachine(built)
	pushed := image.Image{Repository: "elemental/os", Tag: version, Ref: registry.Host() + "/elemental/os:" + version}
	reference, err := name.ParseReference(pushed.Ref)
	Expect(err).NotTo(HaveOccurred())
	Expect(remote.Write(reference, built, remote.WithTransport(registry.Transport()), remote.WithContext(ctx))).To(Succeed())
	digest, err := built.Digest()
	Expect(err).NotTo(HaveOccurred())
	pushed.Digest, pushed.PlatformDigest = digest.String(), digest.String()
	return pushed
}

func forThisMachine(built v1.Image) v1.Image {
	GinkgoHelper()
	config, err := built.ConfigFile()
	Expect(err).NotTo(HaveOccurred())
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	built, err = mutate.ConfigFile(built, config)
	Expect(err).NotTo(HaveOccurred())
	return built
}

// run runs a command that must succeed and returns its output.
func run(command string, args ...string) string {
	GinkgoHelper()
	output, err := exec.Command(command, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %s: %s", command, strings.Join(args, " "), output)
	return strings.TrimSpace(string(output))
}

func read(path string) string {
	GinkgoHelper()
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

func write(path, content string) {
	GinkgoHelper()
	makeDirs(filepath.Dir(path))
	Expect(os.WriteFile(path, []byte(content), 0o755)).To(Succeed())
}

func makeDirs(paths ...string) {
	GinkgoHelper()
	for _, path := range paths {
		Expect(os.MkdirAll(path, 0o755)).To(Succeed())
	}
}
