// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
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
	osimage.MakeTree(s.tree)
	for _, dir := range []string{"root", "home", "srv", "opt"} {
		osimage.MakeDirs(filepath.Join(s.tree, dir))
	}
	Expect(os.Remove(filepath.Join(s.tree, "etc/hostname"))).To(Succeed())
	for _, path := range append([]string{"mke2fs.conf", "login.defs"}, fromMachine...) {
		osimage.Run("cp", "-a", filepath.Join("/etc", path), filepath.Join(s.tree, "etc", path))
	}
	files := osimage.Files{
		"etc/ssl/certs/.keep": "", "etc/containerd/config.toml": osimage.Read(s.testdata("containerd.toml")),
		// Nobody logs in.
		"etc/systemd/system/getty.target": "->/dev/null", "etc/systemd/system/console-getty.service": "->/dev/null",
	}
	for target, units := range s.enabled() {
		for _, unit := range units {
			files[filepath.Join("etc/systemd/system", target+".wants", unit)] = "->/usr/lib/systemd/system/" + unit
		}
	}
	files.WriteTo(s.tree)
	s.layer = osimage.LayerOf(s.tree)
}

// FailingUnit is what an image has whose boots fail the assessment: a unit that fails at each.
var FailingUnit = osimage.Files{
	"usr/lib/systemd/system/broken.service":                     "[Service]\nType=oneshot\nExecStart=/bin/false\n",
	"etc/systemd/system/multi-user.target.wants/broken.service": "->/usr/lib/systemd/system/broken.service",
}

// Push pushes an OS image with these files to the registry. Its hosts say that they run this version.
func (s *Setup) Push(ctx context.Context, version string, more osimage.Files) image.Image {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "files")
	osimage.Files{"etc/os-release": osimage.Release(version)}.WriteTo(dir)
	more.WriteTo(dir)
	return osimage.Push(ctx, s.registry, version, s.layer, osimage.LayerOf(dir))
}
