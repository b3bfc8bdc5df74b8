// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

// Options of a Setup.
type Options struct {
	// Root of the repository, absolute (default: that of the module of the test).
	Root string
	// Images of Pods by name. Every host and Node has them.
	Images map[string]Program
	// Hosts reports whether there are hosts: they need the toolkit's CLI, or its stand-in.
	Hosts bool
	// Services reports whether hosts and Nodes run kube-proxy; Nodes need it.
	Services bool
	// cgroupV2 leaves out what containerd and the kubelet need in a container on a machine with cgroup v1.
	cgroupV2 bool
}

// Setup is what hosts and Nodes have in common.
type Setup struct {
	options Options
	// root of the repository.
	root string
	// usr has the programs and units that all have in /usr, above those of this machine and below the files of an OS image.
	usr string
	// tree of every OS image, and its layer.
	tree  string
	layer v1.Layer
	// registry of the OS images, and the ports of this machine that hosts reach.
	registry *image.Registry
	ports    []int
}

// New prepares the files of hosts and Nodes.
func New(options Options) *Setup {
	GinkgoHelper()
	s := newSetup(options)
	if options.Hosts {
		s.prepareTree()
	}
	return s
}

// Software is a directory with what hosts have in /usr, for machines with cgroup v2 outside of systemd-nspawn.
func Software(images map[string]Program) string {
	GinkgoHelper()
	return newSetup(Options{Images: images, Hosts: true, cgroupV2: true}).usr
}

func newSetup(options Options) *Setup {
	GinkgoHelper()
	s := &Setup{options: options, root: options.Root}
	if s.root == "" {
		var err error
		s.root, err = repository.Root()
		Expect(err).NotTo(HaveOccurred())
	}
	s.prepareSoftware()
	return s
}

// Root of the repository.
func (s *Setup) Root() string { return s.root }

// Built is a program below bin, of this repository or of its tools.
func (s *Setup) Built(name string) string {
	GinkgoHelper()
	path := filepath.Join(s.root, "bin", name)
	Expect(path).To(BeARegularFile(), "docs/testing.md tells what this suite needs to be built")
	return path
}

// testdata is the path of a file of this package.
func (s *Setup) testdata(name string) string {
	return filepath.Join(s.root, "test", "nspawn", "testdata", name)
}

// MissingForNodes describes what this machine lacks to run Nodes.
func MissingForNodes() string {
	if os.Getuid() != 0 {
		return "it needs root, for mounts, namespaces and control groups"
	}
	if _, err := os.Stat("/sys/fs/cgroup/memory/cgroup.procs"); err != nil {
		return "it needs cgroup v1: " + err.Error()
	}
	return missingPrograms("pods", "systemd-nspawn", "containerd", "runc", "dbus-daemon", "ip", "nft", "/usr/lib/cni/bridge")
}

// MissingForHosts describes what this machine lacks to run hosts.
func MissingForHosts() string {
	if os.Getuid() != 0 {
		return "it needs root, for mounts, namespaces and control groups"
	}
	for _, file := range []string{"/dev/loop-control", "/sys/fs/cgroup/memory/cgroup.procs"} {
		if _, err := os.Stat(file); err != nil {
			return "it needs loop devices and cgroup v1: " + err.Error()
		}
	}
	return missingPrograms("nodes", "systemd-nspawn", "containerd", "runc", "dbus-daemon", "ip", "iptables", "rsync", "mke2fs", "mksquashfs", "grub-editenv")
}

func missingPrograms(suite string, names ...string) string {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return err.Error() + "; hack/test/" + suite + "-packages.sh installs Debian's packages"
		}
	}
	return ""
}

// LockNodes waits until no other run has the routes of this machine to Services and Pods.
func LockNodes() {
	GinkgoHelper()
	osimage.Lock("elemental-pods.lock")
}
