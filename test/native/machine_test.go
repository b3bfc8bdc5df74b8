// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const hostName = "host-1"

// machine is a host with the real agent and the real CLI.
type machine struct {
	kind snapshotter
	// dir holds the partitions' backing files, share is /native of the booted system.
	dir, share string
	api        *apitest.API
	registry   *image.Registry

	lock  sync.Mutex
	loops []string
	init  *exec.Cmd
	boots int
	// off keeps the machine from being powered on again when it goes down.
	off bool
	// gone is closed when the current boot has ended.
	gone chan struct{}
	// opening is the file open at which the CLI is blocked; nil if there is none.
	opening *opening
}

// newMachine installs a machine and powers it on; it has reported when this returns.
func newMachine() *machine {
	GinkgoHelper()
	return newMachineWith(loopdevice)
}

// newMachineWith is newMachine with another snapshotter.
func newMachineWith(kind snapshotter) *machine {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	registry, err := image.Start(image.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(registry.Close)
	m := &machine{kind: kind, dir: dir, share: filepath.Join(dir, "share"), registry: registry, api: apitest.New()}
	DeferCleanup(m.api.Close)
	install(dir, kind)
	m.equip()
	m.loops = attach(dir)
	m.powerOn()
	DeferCleanup(m.switchOff)
	DeferCleanup(m.logs)
	Eventually(m.last).Should(HaveField("OS.Snapshot", BeEquivalentTo(1)))
	m.api.Desire(hostName, wire.Desired{Approved: true})
	return m
}

// equip creates what the machine's operating system has besides its image.
func (m *machine) equip() {
	GinkgoHelper()
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	bin := filepath.Join(m.share, "bin")
	for _, name := range []string{bin, filepath.Join(m.share, "hold"), filepath.Join(m.share, "reached"), filepath.Join(m.share, "fail"), filepath.Join(m.dir, "bin")} {
		Expect(os.MkdirAll(name, 0o755)).To(Succeed())
	}
	Expect(os.Symlink(self, filepath.Join(m.dir, "bin", grubName))).To(Succeed())
	osimage.Run("cp", self, filepath.Join(bin, kubeletName))
	for directory, program := range map[string]string{"cli": programs.elemental, "agent": programs.agent} {
		Expect(os.Mkdir(filepath.Join(m.share, directory), 0o755)).To(Succeed())
		osimage.Run("cp", program, filepath.Join(m.share, directory))
	}
	for _, name := range []string{"elemental", "elemental-agent", "hold", "snapper", "systemctl"} {
		osimage.Run("cp", filepath.Join("testdata/commands", name), bin)
	}
	osimage.Run("cp", "-r", "testdata/dbus", m.share)
	for _, name := range []string{"rsync", "mke2fs", "mkfs.ext2", "mkfs.ext4", "mksquashfs", "btrfs"} {
		Expect(os.Symlink("hold", filepath.Join(bin, name))).To(Succeed())
	}
	Expect(os.Symlink("/usr/bin/grub-editenv", filepath.Join(bin, "grub2-editenv"))).To(Succeed())
	Expect(m.registry.WriteCA(filepath.Join(m.share, "ca.pem"))).To(Succeed())
	config, err := json.Marshal(map[string]any{
		"registration": map[string]any{"uri": m.api.URI(), "caCert": m.api.CACert(), "token": apitest.Token},
		"agent":        map[string]any{"hostname": map[string]any{"useExisting": true}, "reconciliation": "1s", "stableWindow": "1s"},
	})
	Expect(err).NotTo(HaveOccurred())
	osimage.Write(filepath.Join(m.share, "agent.yaml"), string(config))
	Expect(syscall.Mkfifo(filepath.Join(m.share, "power"), 0o600)).To(Succeed())
}

// powerOn boots what GRUB chooses.
func (m *machine) powerOn() {
	GinkgoHelper()
	m.boots++
	script, err := filepath.Abs("testdata/boot.sh")
	Expect(err).NotTo(HaveOccurred())
	log, err := os.OpenFile(filepath.Join(m.dir, "console.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }()
	init := exec.Command("bash", script)
	init.Dir, init.Stdout, init.Stderr = m.dir, log, log
	init.Env = append(os.Environ(), "MACHINE="+m.dir, "LOOPS="+strings.Join(m.loops, " "), "BOOT_ID=boot-"+strconv.Itoa(m.boots), "SNAPSHOTTER="+string(m.kind))
	init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS}
	gone := make(chan struct{})
	m.lock.Lock()
	defer m.lock.Unlock()
	Expect(init.Start()).To(Succeed())
	m.init, m.gone = init, gone
	go m.watch(init, gone)
}

// watch powers the machine on again when it goes down by itself: it was rebooted, or its kernel panicked.
func (m *machine) watch(init *exec.Cmd, gone chan struct{}) {
	defer GinkgoRecover()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if pipe, err := os.Open(filepath.Join(m.share, "power")); err == nil {
			_, _ = io.ReadAll(pipe)
			_ = pipe.Close()
			_ = init.Process.Kill()
		}
	}()
	_ = init.Wait()
	m.lock.Lock()
	off := m.off
	m.lock.Unlock()
	m.letGo(asked)
	close(gone)
	if !off {
		detachLeft(m.loops)
		m.powerOn()
	}
}

// letGo ends the wait at the pipe for this boot. The pipe has no reader for a moment when a signal restarts the wait.
func (m *machine) letGo(asked <-chan struct{}) {
	for {
		if pipe, err := os.OpenFile(filepath.Join(m.share, "power"), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			_ = pipe.Close()
		}
		select {
		case <-asked:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// detachLeft simulates that a reboot detaches loop devices.
func detachLeft(loops []string) {
	GinkgoHelper()
	for _, each := range leftOn(loops) {
		osimage.Run("losetup", "-d", each.device)
	}
}

// cutPower simulates a power cut: what has not been written to the partitions is lost. The machine is on again when
// this returns.
func (m *machine) cutPower() {
	GinkgoHelper()
	for _, each := range partitions {
		osimage.Run("cp", "--sparse=always", filepath.Join(m.dir, each.label), filepath.Join(m.dir, each.label+".cut"))
	}
	m.switchOff()
	for _, each := range partitions {
		Expect(os.Rename(filepath.Join(m.dir, each.label+".cut"), filepath.Join(m.dir, each.label))).To(Succeed())
	}
	m.attachDisk()
	m.releaseAll()
	m.powerOn()
}

// attachDisk attaches the disk of a machine that was powered off.
func (m *machine) attachDisk() {
	GinkgoHelper()
	m.lock.Lock()
	defer m.lock.Unlock()
	m.off, m.loops = false, attach(m.dir)
}

// reboot is an unrelated reboot. It returns when the host has reported from the next boot.
func (m *machine) reboot() {
	GinkgoHelper()
	next := "boot-" + strconv.Itoa(m.boots+1)
	osimage.Write(filepath.Join(m.share, "power"), "reboot\n")
	Eventually(m.last).Should(HaveField("OS.BootID", next))
}

// releaseAll lets all commands and stages of a machine that is off continue when it is on again.
func (m *machine) releaseAll() {
	GinkgoHelper()
	oem := filepath.Join(m.dir, "oem")
	Expect(os.MkdirAll(oem, 0o755)).To(Succeed())
	osimage.Run("mount", m.loops[1], oem)
	for _, dir := range []string{oem, m.share} {
		osimage.Run("find", filepath.Join(dir, "hold"), filepath.Join(dir, "reached"), "-type", "f", "-delete")
	}
	osimage.Run("umount", oem)
}

// switchOff stops the machine and releases its disk.
func (m *machine) switchOff() {
	GinkgoHelper()
	m.lock.Lock()
	m.off = true
	init, gone := m.init, m.gone
	m.lock.Unlock()
	_ = init.Process.Kill()
	Eventually(gone).Should(BeClosed())
	if m.opening != nil {
		m.opening.letGo()
		m.opening = nil
	}
	detach(m.loops)
}

func (m *machine) logs() {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, path := range []string{filepath.Join(m.dir, "console.log"), filepath.Join(m.share, "agent.log"), filepath.Join(m.share, "stages.log")} {
		content, _ := os.ReadFile(path)
		fmt.Fprintf(GinkgoWriter, "---- %s\n%s\n", path, content)
	}
	for _, report := range m.api.Reports(hostName) {
		text, _ := json.Marshal(report)
		fmt.Fprintf(GinkgoWriter, "---- report %s\n", text)
	}
}

// path is a path of the booted system.
func (m *machine) path(path string) string {
	m.lock.Lock()
	defer m.lock.Unlock()
	return filepath.Join("/proc", strconv.Itoa(m.init.Process.Pid), "root", path)
}

func (m *machine) last() wire.Report { return m.api.Last(hostName) }

// attempt is the last reported attempt; the zero value if there is none.
func (m *machine) attempt() wire.Attempt {
	if attempt := m.last().Upgrade; attempt != nil {
		return *attempt
	}
	return wire.Attempt{}
}

// upgrade requests an upgrade.
func (m *machine) upgrade(attempt string, version wire.OSVersion) {
	GinkgoHelper()
	encoded, err := json.Marshal(version)
	Expect(err).NotTo(HaveOccurred())
	m.api.Desire(hostName, wire.Desired{Approved: true, Upgrade: &wire.Upgrade{
		Attempt: attempt, Apply: true, OSVersionManagement: map[string]json.RawMessage{"osVersion": encoded},
	}})
}

// ends waits for the end of an attempt and returns it.
func (m *machine) ends(attempt string) wire.Attempt {
	GinkgoHelper()
	Eventually(m.attempt).Should(And(HaveField("Attempt", attempt),
		HaveField("Phase", BeElementOf(wire.PhaseSucceeded, wire.PhaseFailed, wire.PhaseRolledBack))))
	return m.attempt()
}

// environment reads a block of GRUB's variables.
func (m *machine) environment(path string) *grub.Env {
	GinkgoHelper()
	variables, err := grub.Read(m.path(path))
	Expect(err).NotTo(HaveOccurred())
	return variables
}
