// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double_test

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/contract/elemental"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("The double of the elemental CLI", func() {
	elemental.Cases(func() elemental.Host {
		registry, err := image.Start(image.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(registry.Close)
		m := newMachine(registry)
		m.powerOn()
		return doubled{m}
	})
})

// doubled is a host with the test doubles.
type doubled struct{ *machine }

// killedAt maps moments of the contract to those of the double.
var killedAt = map[elemental.Moment]string{
	elemental.InHook: source.OnceInHook, elemental.Packing: source.OncePacking, elemental.Unrecorded: source.OnceUnrecorded,
}

// Upgrade implements elemental.Host.
func (d doubled) Upgrade(u elemental.Upgrade) elemental.Outcome {
	GinkgoHelper()
	labels := map[string]string{}
	if u.To.NoKernel {
		labels[source.LabelKernel] = source.NoKernel
	}
	if u.To.FailingStage != "" {
		labels[source.LabelFailingStage] = u.To.FailingStage
	}
	if u.Killed != elemental.Never {
		labels[source.LabelUpgradeKilled] = killedAt[u.Killed]
	}
	uri := "oci://" + d.registry.Host() + "/elemental/os:none"
	if !u.To.Missing {
		system := image.OS{Labels: labels, Modes: u.To.Modes}
		if u.To.Large {
			system.Bytes = largeBytes
		}
		d.push(u.To.Version, system)
		uri = d.images[u.To.Version].URI()
	}
	args := []string{"upgrade", "--system", uri}
	if u.Recovery {
		args = append(args, "--recovery")
	}
	command := exec.CommandContext(GinkgoT().Context(), filepath.Join(d.bin, "elemental"), args...)
	command.Env = []string{double.RootEnv + "=" + string(d.Disk), "SSL_CERT_FILE=" + d.Path("ca.pem")}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run()
	return elemental.Outcome{ExitCode: command.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// Look implements elemental.Host.
func (d doubled) Look() elemental.Disk {
	GinkgoHelper()
	found := elemental.Disk{Snapshots: map[int][]string{}, Recorded: map[int]bool{}}
	ids, err := d.Snapshots()
	Expect(err).NotTo(HaveOccurred())
	for _, id := range ids {
		entries, err := os.ReadDir(d.Snapshot(id))
		Expect(err).NotTo(HaveOccurred())
		found.Snapshots[id] = []string{}
		for _, entry := range entries {
			found.Snapshots[id] = append(found.Snapshots[id], entry.Name())
		}
	}
	found.Default, err = os.Readlink(d.State(disk.SnapshotsDir, disk.ActiveLink))
	Expect(err).NotTo(HaveOccurred())
	recorded, err := state.Read(d.State(disk.StateFile))
	Expect(err).NotTo(HaveOccurred())
	if recorded.State == nil {
		recorded.State = &state.Partition{}
	}
	for id, each := range recorded.State.Snapshots {
		found.Recorded[id] = each != nil && each.Active
	}
	oem, err := grub.Read(d.GrubOEMEnv())
	Expect(err).NotTo(HaveOccurred())
	saved, err := grub.Read(d.GrubEnv())
	Expect(err).NotTo(HaveOccurred())
	found.Passive, found.Fallback, found.Check = oem.Get(grub.PassiveSnapshots), oem.Get(grub.DefaultFallback), saved.Get("boot_assessment_check")
	found.Mounts, found.Loops = d.more(), d.attached()
	return found
}

// CutRecord implements elemental.Host.
func (d doubled) CutRecord(text string) {
	GinkgoHelper()
	elemental.CutRecord(d.State(disk.StateFile), text)
}

// largeBytes is the content size of a large image.
const largeBytes = 4 << 20

// Fill implements elemental.Host.
func (d doubled) Fill() {
	GinkgoHelper()
	Expect(d.SetStateBytes(disk.DefaultStateBytes - d.Writable() + largeBytes*3/2)).To(Succeed())
}

// Whole implements elemental.Host.
func (d doubled) Whole(snapshot int) bool {
	_, err := source.Open(d.Snapshot(snapshot, disk.SnapshotImage))
	return err == nil
}

// Mode implements elemental.Host.
func (d doubled) Mode(snapshot int, path string) int64 {
	GinkgoHelper()
	packed, err := os.Open(d.Snapshot(snapshot, disk.SnapshotImage))
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = packed.Close() }()
	for files := tar.NewReader(packed); ; {
		header, err := files.Next()
		Expect(err).NotTo(HaveOccurred(), "%s is not in the snapshot", path)
		if header.Name == path {
			return header.Mode
		}
	}
}

// more are the mounts that did not exist when the host had booted.
func (d doubled) more() []string {
	GinkgoHelper()
	mounts, err := d.Mounts()
	Expect(err).NotTo(HaveOccurred())
	targets := []string{}
	for _, each := range mounts {
		if !slices.ContainsFunc(disk.BootMounts(), func(m disk.Mount) bool { return m.Target == each.Target }) {
			targets = append(targets, each.Target)
		}
	}
	slices.Sort(targets)
	return targets
}

func (d doubled) attached() []string {
	GinkgoHelper()
	loops, err := d.Loops()
	Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for _, each := range loops {
		names = append(names, strings.TrimPrefix(each.File, filepath.Join(disk.StateDir, disk.SnapshotsDir)+"/"))
	}
	slices.Sort(names)
	return names
}
