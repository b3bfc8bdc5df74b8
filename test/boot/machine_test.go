// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// machine is a virtual machine with a disk, which is started again after each reset.
type machine struct {
	hardware
	dir     string
	disk    *disk
	qemu    *process.Process
	boots   atomic.Int32
	off     atomic.Bool
	stopped chan struct{}
	// reason of the last end of QEMU, by its monitor.
	reason atomic.Value
}

// hardware of a machine.
type hardware struct {
	// software is the image of the file system with the programs of all OS images.
	software string
	// sharesUsr reports whether /usr of this machine is below them; then systemd is the init.
	sharesUsr             bool
	megabytes, processors int
}

// newMachine powers a machine on, with a copy of a disk. It is switched off at the end of the spec.
func newMachine(image string, of hardware) *machine {
	GinkgoHelper()
	m := &machine{hardware: of, dir: GinkgoT().TempDir()}
	var err error
	m.disk, err = newDisk(image, m.dir, m.path("disk.sock"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(m.disk.close)
	DeferCleanup(m.keepConsole)
	m.powerOn()
	DeferCleanup(m.switchOff)
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) arguments() []string {
	board := []string{"-M", "pc"}
	if firmware == uefi {
		board = []string{
			"-M", "q35", "-drive", "if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd",
			"-drive", "if=pflash,format=raw,file=" + m.path("variables.fd"),
		}
	}
	if m.sharesUsr {
		board = append(board, "-virtfs", "local,path=/usr,mount_tag=usr,security_model=none,readonly=on")
	}
	return append(board,
		"-accel", "tcg,thread=multi", "-cpu", "qemu64,+rdrand", "-smp", strconv.Itoa(m.processors), "-m", strconv.Itoa(m.megabytes), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-chardev", "file,id=console,append=on,path="+m.path("console"), "-serial", "chardev:console",
		"-qmp", "unix:"+m.path("monitor")+",server=on,wait=off",
		"-drive", "driver=nbd,server.type=unix,server.path="+m.path("disk.sock")+",if=none,id=disk,cache.writeback=on,discard=ignore",
		"-device", "virtio-blk-pci,drive=disk,bootindex=0",
		"-drive", "file="+m.software+",if=none,id=software,format=raw,readonly=on", "-device", "virtio-blk-pci,drive=software",
		"-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-pci,netdev=net,romfile=",
	)
}

func (m *machine) powerOn() {
	GinkgoHelper()
	if firmware == uefi {
		osimage.Run("cp", "/usr/share/OVMF/OVMF_VARS_4M.fd", m.path("variables.fd"))
	}
	m.off.Store(false)
	m.stopped = make(chan struct{})
	Expect(m.start()).To(Succeed())
	go m.supervise()
}

func (m *machine) start() (err error) {
	_ = os.Remove(m.path("monitor"))
	m.qemu, err = process.Start(process.Spec{Name: "qemu", Path: "qemu-system-x86_64", Args: m.arguments(), LogDir: m.dir})
	if err == nil {
		m.boots.Add(1)
		go m.monitor(m.qemu)
	}
	return err
}

// monitor notes why QEMU ends.
func (m *machine) monitor(of *process.Process) {
	var connection net.Conn
	for err := error(os.ErrNotExist); err != nil; {
		select {
		case <-of.Exited():
			return
		case <-time.After(look):
			connection, err = net.Dial("unix", m.path("monitor"))
		}
	}
	defer func() { _ = connection.Close() }()
	_, _ = fmt.Fprintln(connection, `{"execute":"qmp_capabilities"}`)
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		var event struct {
			Event string
			Data  struct{ Reason string }
		}
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Event == "SHUTDOWN" {
			m.reason.Store(event.Data.Reason)
		}
	}
}

// supervise starts the machine again after each reset, until it is switched off.
func (m *machine) supervise() {
	defer GinkgoRecover()
	defer close(m.stopped)
	for {
		<-m.qemu.Exited()
		if m.off.Load() {
			return
		}
		if reason, _ := m.reason.Load().(string); m.qemu.Result() != nil || reason != "guest-reset" {
			Fail(fmt.Sprintf("QEMU has ended: %v %q\n%s", m.qemu.Result(), reason, process.Tail(m.qemu.LogFile())))
		}
		Expect(m.start()).To(Succeed())
	}
}

// switchOff ends QEMU.
func (m *machine) switchOff() {
	GinkgoHelper()
	m.off.Store(true)
	for isOn := true; isOn; {
		m.qemu.Kill()
		select {
		case <-m.stopped:
			isOn = false
		case <-time.After(look): // it was just started again
		}
	}
}

// cutPower loses some of what the guest has not flushed, by the seed, and powers the machine on again.
func (m *machine) cutPower(seed uint64) {
	GinkgoHelper()
	m.disk.cut()
	m.switchOff()
	lost, of, err := m.disk.powerOn(seed)
	Expect(err).NotTo(HaveOccurred())
	GinkgoWriter.Printf("the power is cut: %d of %d sectors in the cache of the disk are lost (seed %d)\n", lost, of, seed)
	m.powerOn()
}

// console is what GRUB, kernel and guest have written, in all boots.
func (m *machine) console() string {
	content, _ := os.ReadFile(m.path("console"))
	return string(content)
}

// await waits until the console has a text. It looks often: what is written at that moment is flushed soon.
func (m *machine) await(text string) {
	GinkgoHelper()
	const often = 10 * time.Millisecond
	Eventually(m.console).WithPolling(often).Should(ContainSubstring(text))
}

// keepConsole copies the console to bin/logs.
func (m *machine) keepConsole() {
	GinkgoHelper()
	name := strings.Map(func(char rune) rune {
		if char == ' ' || char == '/' {
			return '-'
		}
		return char
	}, CurrentSpecReport().FullText())
	osimage.Write(filepath.Join(root, "bin/logs/boot", name+".console"), m.console())
}
