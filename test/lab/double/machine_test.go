// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/install"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// machine is a host without a supervisor: the test powers it on and runs the boot assessment.
type machine struct {
	disk.Disk
	bin      string
	registry *image.Registry
	images   map[string]image.Image
	boots    int
}

// newMachine creates a host with snapshot 1 of the image "v1" installed; it is off.
func newMachine(registry *image.Registry) *machine {
	m := newHost(registry)
	src, err := source.Parse(m.images["v1"].URI())
	Expect(err).NotTo(HaveOccurred())
	action := &install.Action{Host: &install.Simulated{Disk: m.Disk, Transport: registry.Transport()}, System: src}
	Expect(action.Install(GinkgoT().Context())).To(Succeed())
	return m
}

// newLiveMachine creates a host with the empty disk /dev/vda and live media of the image "v1", from which it has
// booted.
func newLiveMachine(registry *image.Registry) *machine {
	m := newHost(registry)
	src, err := source.Parse(m.images["v1"].URI())
	Expect(err).NotTo(HaveOccurred())
	Expect(boot.Insert(GinkgoT().Context(), m.Disk, src, source.Options{Transport: registry.Transport()})).To(Succeed())
	Expect(m.WriteFile("/dev/vda", nil)).To(Succeed())
	Expect(m.powerOn()).To(Equal("live=0"))
	return m
}

// newHost creates a host with only its commands, and the image "v1".
func newHost(registry *image.Registry) *machine {
	m := &machine{Disk: disk.Disk(GinkgoT().TempDir()), registry: registry, images: map[string]image.Image{}}
	m.bin = m.Path("bin")
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	Expect(double.Link(self, m.bin)).To(Succeed())
	Expect(registry.WriteCA(m.Path("ca.pem"))).To(Succeed())
	m.push("v1", image.OS{})
	return m
}

func (m *machine) push(version string, os image.OS) {
	os.Version, os.Bytes = version, cmp.Or(os.Bytes, 64<<10)
	img, err := m.registry.Push(GinkgoT().Context(), "elemental/os", version, os)
	Expect(err).NotTo(HaveOccurred())
	m.images[version] = img
}

// run runs a command in a process and returns its output and exit code, -1 if it was killed.
func (m *machine) run(argv ...string) (string, int) { return m.runEnv(nil, argv...) }

func (m *machine) runEnv(env []string, argv ...string) (string, int) {
	cmd := exec.CommandContext(GinkgoT().Context(), filepath.Join(m.bin, argv[0]), argv[1:]...)
	cmd.Env = []string{double.RootEnv + "=" + string(m.Disk), "SSL_CERT_FILE=" + m.Path("ca.pem")}
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	return out.String(), cmd.ProcessState.ExitCode()
}

func (m *machine) ok(argv ...string) {
	GinkgoHelper()
	out, rc := m.run(argv...)
	Expect(rc).To(BeZero(), out)
}

func (m *machine) upgrade(version string) int {
	_, rc := m.run("elemental", "upgrade", "--system", m.images[version].URI(), "--snapshot-labels", "correlationID="+version)
	return rc
}

// powerOn boots until a system stays up: it reboots after a panic and after a failed assessment. It returns the
// entries that were tried.
func (m *machine) powerOn() string {
	GinkgoHelper()
	var tried []string
	for range 6 {
		s, err := boot.Firmware(m.Disk)
		Expect(err).NotTo(HaveOccurred())
		tried = append(tried, fmt.Sprintf("%s=%d", s.Mode, s.Snapshot))
		if s.Panics() {
			continue
		}
		m.boots++
		Expect(s.Up(m.Disk, fmt.Sprintf("boot-%d", m.boots))).To(Succeed())
		if !s.HealthCheck {
			break
		}
		if s.Healthy() {
			Expect(boot.Passed(m.Disk)).To(Succeed())
			break
		}
	}
	return strings.Join(tried, " ")
}

var dates = regexp.MustCompile(`date: "?[0-9T:Z+-]+"?`)

// stateYAML is state.yaml with placeholders for what differs between runs.
func (m *machine) stateYAML() string {
	data, err := os.ReadFile(m.State(disk.StateFile))
	Expect(err).NotTo(HaveOccurred())
	text := strings.ReplaceAll(string(data), m.registry.Host(), "registry")
	for version, img := range m.images {
		text = strings.ReplaceAll(text, img.PlatformDigest, "<"+version+">")
	}
	return dates.ReplaceAllString(text, "date: <now>")
}

func (m *machine) env(path string) string {
	out, rc := m.run("grub2-editenv", path, "list")
	Expect(rc).To(BeZero(), out)
	return strings.TrimSpace(out)
}

// snapshots lists the files of each snapshot in .snapshots.
func (m *machine) snapshots() string {
	ids, err := m.Snapshots()
	Expect(err).NotTo(HaveOccurred())
	var all []string
	for _, id := range ids {
		entries, err := os.ReadDir(m.Snapshot(id))
		Expect(err).NotTo(HaveOccurred())
		for _, e := range entries {
			all = append(all, fmt.Sprintf("%d/%s", id, e.Name()))
		}
	}
	link, err := os.Readlink(m.State(disk.SnapshotsDir, disk.ActiveLink))
	Expect(err).NotTo(HaveOccurred())
	return strings.Join(append(all, "active->"+link), " ")
}

func (m *machine) booted() string {
	b, err := m.Booted()
	Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("%s=%d", b.Mode, b.Snapshot)
}

// mounts are all mounts except the root file system.
func (m *machine) mounts() string {
	mounts, err := m.Mounts()
	Expect(err).NotTo(HaveOccurred())
	var all []string
	for _, mount := range mounts {
		if mount.Device != disk.RootLoop {
			all = append(all, mount.Target+":"+mount.Options)
		}
	}
	return strings.Join(all, " ")
}
