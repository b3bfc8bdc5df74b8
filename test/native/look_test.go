// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

// process of a machine, with its PID on the machine that runs the suite.
type process struct {
	id   int
	name string
}

// processes are those of the machine, by their parents: its init and all its descendants.
func (m *machine) processes() []process {
	GinkgoHelper()
	m.lock.Lock()
	init := m.init.Process.Pid
	m.lock.Unlock()
	return descendants(init)
}

func descendants(of int) []process {
	GinkgoHelper()
	family := map[int]bool{of: true}
	parents, names := parentsAndNames()
	var found []process
	for grown := true; grown; {
		grown = false
		for id, parent := range parents {
			if family[parent] && !family[id] {
				family[id], grown = true, true
				found = append(found, process{id: id, name: names[id]})
			}
		}
	}
	return found
}

func parentsAndNames() (parents map[int]int, names map[int]string) {
	parents, names = map[int]int{}, map[int]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it has exited meanwhile
		}
		before, after, _ := strings.Cut(string(content), " (")
		end := strings.LastIndex(after, ") ")
		fields := strings.Fields(after[end+2:])
		id, _ := strconv.Atoi(before)
		if fields[0] != "Z" {
			parents[id], _ = strconv.Atoi(fields[1])
			names[id] = after[:end]
		}
	}
	return parents, names
}

// named are the processes of the machine with a name.
func (m *machine) named(names ...string) []process {
	return slices.DeleteFunc(m.processes(), func(p process) bool { return !slices.Contains(names, p.name) })
}

// signal sends a signal to all processes of the machine with these names.
func (m *machine) signal(signal syscall.Signal, names ...string) {
	GinkgoHelper()
	kill(signal, m.named(names...))
}

func kill(signal syscall.Signal, found []process) {
	GinkgoHelper()
	Expect(found).NotTo(BeEmpty())
	for _, each := range found {
		Expect(syscall.Kill(each.id, signal)).To(Or(Succeed(), MatchError(syscall.ESRCH)))
	}
}

// within runs shell commands in the booted system, one after the other.
func (m *machine) within(commands ...string) {
	GinkgoHelper()
	m.lock.Lock()
	init := strconv.Itoa(m.init.Process.Pid)
	m.lock.Unlock()
	for _, each := range commands {
		osimage.Run("nsenter", "--target", init, "--mount", "--pid", "--root", "--wd", "bash", "-c", each+" >/dev/null 2>&1")
	}
}

// hold blocks the commands, or stages of the toolkit's hooks, when they start, or the CLI when it opens a file.
func (m *machine) hold(names ...string) {
	GinkgoHelper()
	for _, name := range names {
		if _, isOpening := openings[name]; isOpening {
			m.opening = m.holdOpening(name)
			continue
		}
		Expect(os.WriteFile(m.holding("hold", name), nil, 0o600)).To(Succeed())
	}
}

// reached waits until what was passed to hold is blocked.
func (m *machine) reached(name string) {
	GinkgoHelper()
	if m.opening != nil && m.opening.moment == name {
		Eventually(m.opening.held).Should(BeClosed())
		openings[name].expect(m)
		return
	}
	Eventually(func() string { return m.holding("reached", name) }).Should(BeAnExistingFile())
	Expect(os.Remove(m.holding("reached", name))).To(Succeed())
}

// release lets what is blocked continue.
func (m *machine) release(name string) {
	GinkgoHelper()
	if m.opening != nil && m.opening.moment == name {
		m.opening.letGo()
		m.opening = nil
		return
	}
	Expect(os.Remove(m.holding("hold", name))).To(Succeed())
}

func (m *machine) holding(what, name string) string {
	if _, err := os.Stat(filepath.Join(m.share, "bin", name)); err == nil {
		return filepath.Join(m.share, what, name)
	}
	return m.path(filepath.Join("/oem", what, name))
}

// leftovers are the mounts, loop devices and processes of the CLI that exist while it should not be running.
func (m *machine) leftovers() []string {
	GinkgoHelper()
	var found []string
	table, err := os.ReadFile(m.path("/proc/1/mountinfo"))
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(table)) {
		target := strings.Fields(line)[4]
		if strings.HasPrefix(target, "/run/elemental/") && target != "/run/elemental/efi" && target != "/run/elemental/persistent" {
			found = append(found, "mount "+target)
		}
		if strings.Contains(target, ".workDir") {
			found = append(found, "mount "+target)
		}
	}
	root := fmt.Sprintf("/.snapshots/%d/snapshot.img", m.last().OS.Snapshot)
	for _, each := range leftOn(m.loops) {
		if !strings.HasSuffix(each.file, root) {
			found = append(found, "loop "+each.file)
		}
	}
	for _, each := range m.named("elemental", "rsync", "hold", "mksquashfs") {
		found = append(found, "process "+each.name)
	}
	return found
}

// snapshots are the directories of snapshots with their entries.
func (m *machine) snapshots() map[string][]string {
	GinkgoHelper()
	directories, err := filepath.Glob(m.path(stateDir + "/.snapshots/[0-9]*"))
	Expect(err).NotTo(HaveOccurred())
	found := map[string][]string{}
	for _, directory := range directories {
		entries, err := os.ReadDir(directory)
		Expect(err).NotTo(HaveOccurred())
		names := []string{}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		found[filepath.Base(directory)] = names
	}
	return found
}

// expectWhole asserts that the CLI has left nothing behind, and that exactly these snapshots exist: the first is the
// default of the next boot, the others are its fallbacks, followed by the recovery system.
func (m *machine) expectWhole(ids ...string) {
	GinkgoHelper()
	m.expectSnapshots(ids...)
	entries := []string{"0"}
	for i := range ids {
		entries = append(entries, strconv.Itoa(i+1))
	}
	oem, saved := m.environment("/run/elemental/efi/grub_oem_env"), m.environment("/oem/grubenv")
	Expect(oem.Get(grub.PassiveSnapshots)).To(Equal(strings.Join(ids[1:], " ")))
	Expect(oem.Get(grub.DefaultFallback)).To(Equal(strings.Join(entries, " ")))
	Expect(saved.Get(grub.SavedEntry) + saved.Get(grub.NextEntry) + saved.Get(grub.LastBootAttempt)).To(BeEmpty())
}

// expectFirstOS expects a boot of the snapshot that was installed.
func (m *machine) expectFirstOS(boot string) {
	GinkgoHelper()
	Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("BootID", boot)))
}

// expectUntouched expects the state after an attempt that ended before its reboot.
func (m *machine) expectUntouched() {
	GinkgoHelper()
	m.expectFirstOS("boot-1")
	m.expectSnapshots("1")
}

// expectSnapshots is expectWhole without GRUB's list of fallbacks.
func (m *machine) expectSnapshots(ids ...string) {
	GinkgoHelper()
	Expect(m.leftovers()).To(BeEmpty())
	if m.kind != loopdevice {
		m.expectSubvolumes(ids...)
		return
	}
	wanted := map[string][]string{}
	for _, id := range ids {
		wanted[id] = []string{"snapshot.img"}
	}
	Expect(m.snapshots()).To(Equal(wanted))
	Expect(os.Readlink(m.path(stateDir + "/.snapshots/active"))).To(Equal(ids[0] + "/snapshot.img"))
}

// agentLog is what the machine's agents have logged.
func (m *machine) agentLog() string {
	content, _ := os.ReadFile(filepath.Join(m.share, "agent.log"))
	return string(content)
}
