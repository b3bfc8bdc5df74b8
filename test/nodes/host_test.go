// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

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
)

// Exit codes of testdata/boot.sh.
const (
	rebooted = 133
	panicked = 100
)

// groups is the control group of all hosts.
const groups = "elemental-nodes"

// host is a machine on systemd-nspawn.
type host struct {
	name   string
	number int
	// dir has the backing files of its partitions.
	dir   string
	loops []string
	init  *process.Process
	boots atomic.Int32
	// off keeps the host from being powered on again when it goes down.
	off  atomic.Bool
	done chan struct{}
}

// machine describes a host.
type machine struct {
	name string
	// number is in its addresses, and in the ids of its snapshots.
	number      int
	installed   image.Image
	agentConfig []byte
	// ports of the lab that it uses.
	ports []int
}

// newHost installs a host from an image, connects it to ports of the lab and powers it on. It is switched off when the suite ends.
func newHost(of machine) *host {
	GinkgoHelper()
	h := &host{name: of.name, number: of.number, dir: GinkgoT().TempDir(), done: make(chan struct{})}
	h.install(of.installed, of.agentConfig)
	Expect(os.Symlink(software, filepath.Join(h.dir, "usr"))).To(Succeed())
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	makeDirs(filepath.Join(h.dir, "bin"))
	Expect(os.Symlink(self, filepath.Join(h.dir, "bin", grubName))).To(Succeed())
	connect(h.name, h.number, of.ports...)
	DeferCleanup(h.removeGroups)
	h.attach()
	DeferCleanup(h.detach)
	DeferCleanup(h.keepJournal)
	h.powerOn()
	DeferCleanup(h.switchOff)
	return h
}

func (h *host) powerOn() {
	GinkgoHelper()
	script, err := filepath.Abs("testdata/boot.sh")
	Expect(err).NotTo(HaveOccurred())
	h.init, err = process.Start(process.Spec{
		Name: h.name, Path: "/bin/bash", Args: []string{script}, LogDir: h.dir,
		Env: []string{"HOST=" + h.dir, "NAME=" + h.name, "LOOPS=" + strings.Join(h.loops, " ")},
	})
	Expect(err).NotTo(HaveOccurred())
	h.boots.Add(1)
	go h.supervise()
}

// supervise boots the host again whenever it was rebooted or its kernel has panicked, until it is switched off.
func (h *host) supervise() {
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
			Fail(fmt.Sprintf("host %s ended with %v; the end of its console:\n%s", h.name, ended, process.Tail(h.init.LogFile())))
		}
		h.detachLeft()
		Expect(h.init.Restart()).To(Succeed())
		h.boots.Add(1)
	}
}

// switchOff cuts the power. No process of the host is left when it returns.
func (h *host) switchOff() {
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
	Eventually(os.ReadFile).WithArguments(filepath.Join("/sys/fs/cgroup/unified", groups, h.name, "cgroup.events")).
		Should(ContainSubstring("populated 0"))
}

// removeGroups removes the control groups of the host, innermost first.
func (h *host) removeGroups() {
	GinkgoHelper()
	hierarchies, err := filepath.Glob(filepath.Join("/sys/fs/cgroup/*", groups, h.name))
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
func (h *host) keepJournal() {
	GinkgoHelper()
	at := filepath.Join(h.dir, "persistent")
	makeDirs(at)
	run("mount", "-o", "ro", h.loops[len(h.loops)-1], at)
	defer run("umount", at)
	said, _ := exec.Command("journalctl", "--no-pager", "--quiet", "--directory", filepath.Join(at, "var/log/journal")).CombinedOutput()
	write(filepath.Join(root, "bin/logs/nodes", h.name+".journal"), string(said))
	run("cp", h.init.LogFile(), filepath.Join(root, "bin/logs/nodes", h.name+".console"))
	h.keepState()
}

// keepState copies what the state partition of a host that is off has to bin/logs.
func (h *host) keepState() {
	GinkgoHelper()
	at := filepath.Join(h.dir, "state")
	makeDirs(at)
	run("mount", "-o", "ro", h.loops[len(h.loops)-2], at)
	defer run("umount", at)
	said, _ := exec.Command("sh", "-c", "ls -laR "+at+"; cat "+at+"/state.yaml; df "+at).CombinedOutput()
	write(filepath.Join(root, "bin/logs/nodes", h.name+".state"), string(said))
}
