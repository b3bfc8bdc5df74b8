// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// fromMachine is what hosts and Nodes have of /etc of this machine.
var fromMachine = []string{"passwd", "group", "nsswitch.conf", "ld.so.cache", "alternatives", "pam.d", "dbus-1", "security"}

// enabled are the units that are started, by target.
func (s *Setup) enabled() map[string][]string {
	units := []string{
		"elemental-setup-boot.service", "elemental-setup-network.service", "elemental-boot-assessment.service", "elemental-agent.service",
		"systemd-networkd.service", "containerd.service", "kubelet.service", "lab-images.service",
	}
	if s.options.Services {
		units = append(units, "kube-proxy.service")
	}
	return map[string][]string{
		"sysinit.target":        {"lab-initramfs.service"},
		"network-online.target": {"systemd-networkd-wait-online.service"},
		"multi-user.target":     units,
	}
}

// prepareTree makes the tree of all OS images. Programs and units that they have in common are in the software instead.
func (s *Setup) prepareTree() {
	GinkgoHelper()
	s.tree = filepath.Join(GinkgoT().TempDir(), "tree")
	Run(filepath.Join(s.root, "test/native/testdata/tree.sh"), s.tree)
	for _, dir := range []string{"root", "home", "srv", "opt"} {
		makeDirs(filepath.Join(s.tree, dir))
	}
	Expect(os.Remove(filepath.Join(s.tree, "etc/hostname"))).To(Succeed())
	for _, path := range append([]string{"mke2fs.conf", "login.defs"}, fromMachine...) {
		Run("cp", "-a", filepath.Join("/etc", path), filepath.Join(s.tree, "etc", path))
	}
	files := Files{
		"etc/ssl/certs/.keep": "", "etc/containerd/config.toml": Read(s.testdata("containerd.toml")),
		// Nobody logs in.
		"etc/systemd/system/getty.target": "->/dev/null", "etc/systemd/system/console-getty.service": "->/dev/null",
	}
	for target, units := range s.enabled() {
		for _, unit := range units {
			files[filepath.Join("etc/systemd/system", target+".wants", unit)] = "->/usr/lib/systemd/system/" + unit
		}
	}
	files.WriteTo(s.tree)
	s.layer = layerOf(s.tree)
}

// FailingUnit is what an image has whose boots fail the assessment: a unit that fails at each.
var FailingUnit = Files{
	"usr/lib/systemd/system/broken.service":                     "[Service]\nType=oneshot\nExecStart=/bin/false\n",
	"etc/systemd/system/multi-user.target.wants/broken.service": "->/usr/lib/systemd/system/broken.service",
}

func release(version string) string {
	return fmt.Sprintf("NAME=\"Elemental test\"\nID=elemental-test\nPRETTY_NAME=%q\n", version)
}

// Push pushes an OS image with these files to the registry. Its hosts say that they run this version.
func (s *Setup) Push(ctx context.Context, version string, more Files) image.Image {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "files")
	Files{"etc/os-release": release(version)}.WriteTo(dir)
	more.WriteTo(dir)
	built, err := mutate.AppendLayers(empty.Image, s.layer, layerOf(dir))
	Expect(err).NotTo(HaveOccurred())
	built = configured(built)
	pushed := image.Image{Repository: "elemental/os", Tag: version, Ref: s.registry.Host() + "/elemental/os:" + version}
	reference, err := name.ParseReference(pushed.Ref)
	Expect(err).NotTo(HaveOccurred())
	Expect(remote.Write(reference, built, remote.WithTransport(s.registry.Transport()), remote.WithContext(ctx))).To(Succeed())
	digest, err := built.Digest()
	Expect(err).NotTo(HaveOccurred())
	pushed.Digest, pushed.PlatformDigest = digest.String(), digest.String()
	return pushed
}
