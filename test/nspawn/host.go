// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nspawn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// Exit codes of testdata/boot.sh.
const (
	rebooted = 133
	panicked = 100
)

const (
	// groups is the control group of all hosts and Nodes.
	groups = "elemental-nspawn"
	// look is how often this package looks at what it waits for.
	look = 200 * time.Millisecond
	// maxHosts at a time: each has up to seven of the 64 loop devices that a host sees, and one digit in what is made of its number.
	maxHosts = 9
	// grubChoice is the program that makes GRUB's choice.
	grubChoice = "lab/grub"
)

// Host is a machine with the disk of an installed host.
type Host struct {
	Name   string
	setup  *Setup
	number int
	// dir has the backing files of its partitions.
	dir   string
	loops []string
	init  *process.Process
	// Boots counts how often it was powered on or rebooted.
	Boots atomic.Int32
	// off keeps the host from being powered on again when it goes down.
	off  atomic.Bool
	done chan struct{}
}

// NewHost installs a host from an image and powers it on. Its number, from 1 to 9, is in its addresses and in the ids of its snapshots. It is switched off
// at the end of the node of Ginkgo.
func (s *Setup) NewHost(name string, number int, installed image.Image, agentConfig []byte) *Host {
	GinkgoHelper()
	Expect(number).To(And(BeNumerically(">", 0), BeNumerically("<=", maxHosts)), "the number of a host")
	h := &Host{Name: name, setup: s, number: number, dir: GinkgoT().TempDir(), done: make(chan struct{})}
	h.install(installed, agentConfig)
	h.connect()
	DeferCleanup(h.removeGroups)
	DeferCleanup(h.detach)
	h.attach()
	h.powerOn()
	DeferCleanup(h.keepJournal)
	DeferCleanup(h.switchOff)
	return h
}

func (h *Host) powerOn() {
	GinkgoHelper()
	var err error
	h.init, err = process.Start(process.Spec{
		Name: h.Name, Path: "/bin/bash", Args: []string{h.setup.testdata("boot.sh")}, LogDir: h.dir, Env: []string{
			"HOST=" + h.dir, "NAME=" + h.Name, "LOOPS=" + strings.Join(h.loops, " "), "USR=" + h.setup.usr, "GRUB=" + h.setup.Built(grubChoice), "GROUP=" + groups,
		},
	})
	Expect(err).NotTo(HaveOccurred())
	h.Boots.Add(1)
	go h.supervise()
}

// supervise boots the host again whenever it was rebooted or its kernel has panicked, until it is switched off.
func (h *Host) supervise() {
	defer GinkgoRecover()
	defer close(h.done)
	for {
		<-h.init.Exited()
		var exit *exec.ExitError
		ended := h.init.Result()
		if h.off.Load() {
			return
		}
		if !errors.As(ended, &exit) || (exit.ExitCode() != rebooted && exit.ExitCode() != panicked) {
			Fail(fmt.Sprintf("host %s ended with %v; the end of its console:\n%s", h.Name, ended, process.Tail(h.init.LogFile())))
		}
		h.detachLeft()
		Expect(h.init.Restart()).To(Succeed())
		h.Boots.Add(1)
	}
}

// switchOff cuts the power. No process of the host is left when it returns.
func (h *Host) switchOff() {
	GinkgoHelper()
	h.off.Store(true)
	for isOn := true; isOn; {
		h.init.Kill()
		select {
		case <-h.done:
			isOn = false
		case <-time.After(look): // it was just started again
		}
	}
	awaitEmpty(h.Name)
}

// removeGroups removes the control groups of the host, innermost first.
func (h *Host) removeGroups() {
	GinkgoHelper()
	hierarchies, err := filepath.Glob(filepath.Join("/sys/fs/cgroup/*", groups, h.Name))
	Expect(err).NotTo(HaveOccurred())
	for _, top := range hierarchies {
		nested := []string{}
		Expect(filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				nested = append([]string{path}, nested...)
			}
			return err
		})).To(Succeed())
		for _, group := range append(nested, filepath.Dir(top)) {
			_ = os.Remove(group) // the last one may be another host's as well
		}
	}
}

// keepJournal copies the journal of all boots of a host that is off to bin/logs.
func (h *Host) keepJournal() {
	GinkgoHelper()
	at := filepath.Join(h.dir, "persistent")
	osimage.MakeDirs(at)
	osimage.Run("mount", "-o", "ro", h.loops[len(h.loops)-1], at)
	defer osimage.Run("umount", at)
	said, _ := exec.Command("journalctl", "--no-pager", "--quiet", "--directory", filepath.Join(at, "var/log/journal")).CombinedOutput()
	osimage.Write(filepath.Join(h.setup.root, "bin/logs/nodes", h.Name+".journal"), string(said))
	osimage.Run("cp", h.init.LogFile(), filepath.Join(h.setup.root, "bin/logs/nodes", h.Name+".console"))
	h.keepState()
}

// keepState copies what the state partition of a host that is off has to bin/logs.
func (h *Host) keepState() {
	GinkgoHelper()
	at := filepath.Join(h.dir, "state")
	osimage.MakeDirs(at)
	osimage.Run("mount", "-o", "ro", h.loops[len(h.loops)-2], at)
	defer osimage.Run("umount", at)
	said, _ := exec.Command("sh", "-c", "ls -laR "+at+"; cat "+at+"/state.yaml; df "+at).CombinedOutput()
	osimage.Write(filepath.Join(h.setup.root, "bin/logs/nodes", h.Name+".state"), string(said))
}
