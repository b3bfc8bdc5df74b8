// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/contract/elemental"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

var _ = Describe("The elemental CLI", func() {
	elemental.Cases(func() elemental.Host {
		m := newMachine()
		return real{machine: m, before: m.targets()}
	})
})

// real is a host on which the test calls the CLI; its agent has nothing to do.
type real struct {
	*machine
	// before are the targets of its mounts when it had booted.
	before []string
}

// heldAt are the commands and stages that are blocked at a moment, and what is killed then.
var heldAt = map[elemental.Moment]struct {
	held   string
	killed []string
}{
	elemental.InHook:     {"after-upgrade-chroot", []string{"elemental"}},
	elemental.Packing:    {"rsync", []string{"elemental", "rsync"}},
	elemental.Unrecorded: {"post-upgrade", []string{"elemental"}},
}

// Upgrade implements elemental.Host.
func (r real) Upgrade(u elemental.Upgrade) elemental.Outcome {
	GinkgoHelper()
	var stdout, stderr bytes.Buffer
	command := r.cli(u)
	command.Stdout, command.Stderr = &stdout, &stderr
	at, killed := heldAt[u.Killed]
	if killed {
		r.hold(at.held)
	}
	Expect(command.Start()).To(Succeed())
	if killed {
		r.reached(at.held)
		kill(syscall.SIGKILL, slices.DeleteFunc(descendants(command.Process.Pid), func(p process) bool { return !slices.Contains(at.killed, p.name) }))
		r.release(at.held)
	}
	err := command.Wait()
	exit := (*exec.ExitError)(nil)
	Expect(err == nil || errors.As(err, &exit)).To(BeTrue(), "%v", err)
	return elemental.Outcome{ExitCode: codeOf(command.ProcessState.ExitCode()), Stdout: stdout.String(), Stderr: stderr.String()}
}

// codeOf is the exit code of a command that a shell has run: the shell adds 128 to the number of a
// signal.
func codeOf(exitCode int) int {
	if exitCode == 128+int(syscall.SIGKILL) {
		return -1
	}
	return exitCode
}

// cli is a call of the CLI in the booted system.
func (r real) cli(u elemental.Upgrade) *exec.Cmd {
	GinkgoHelper()
	uri := "oci://" + r.registry.Host() + "/elemental/os:none"
	if !u.To.Missing {
		uri, _ = pushLayers(r.registry, u.To.Version, layersOf(u.To)...)
	}
	line := "PATH=/native/bin:/usr/sbin:/usr/bin GHW_CHROOT=/run/ghw SSL_CERT_FILE=/native/ca.pem HOME=/tmp elemental upgrade --system " + uri
	if u.Recovery {
		line += " --recovery"
	}
	r.lock.Lock()
	init := strconv.Itoa(r.init.Process.Pid)
	r.lock.Unlock()
	// The shell must not be replaced by the CLI, because it turns a signal into an exit code.
	return exec.CommandContext(GinkgoT().Context(), "nsenter", "--target", init, "--mount", "--pid", "--root", "--wd", "bash", "-c", line+"; exit $?")
}

// layersOf an image, besides the base tree.
func layersOf(of elemental.Image) []v1.Layer {
	GinkgoHelper()
	var layers []v1.Layer
	if !of.NoKernel {
		layers = append(layers, layer(kernel))
	}
	if of.Large {
		layers = append(layers, layer(large))
	}
	if of.FailingStage != "" {
		layers = append(layers, layer(files{"system/oem/99_fails.yaml": "stages:\n  " + of.FailingStage + ":\n  - commands: [\"false\"]\n"}))
	}
	empty := files{}
	for path := range of.Modes {
		empty[path] = ""
	}
	return append(layers, layerWith(empty, of.Modes))
}

// Look implements elemental.Host.
func (r real) Look() elemental.Disk {
	GinkgoHelper()
	found := elemental.Disk{Snapshots: map[int][]string{}, Recorded: map[int]bool{}}
	for id, names := range r.snapshots() {
		number, err := strconv.Atoi(id)
		Expect(err).NotTo(HaveOccurred())
		slices.Sort(names)
		found.Snapshots[number] = names
	}
	var err error
	found.Default, err = os.Readlink(r.path(stateDir + "/.snapshots/active"))
	Expect(err).NotTo(HaveOccurred())
	recorded, err := state.Read(r.path(stateDir + "/state.yaml"))
	Expect(err).NotTo(HaveOccurred())
	if recorded.State == nil {
		recorded.State = &state.Partition{}
	}
	for id, each := range recorded.State.Snapshots {
		found.Recorded[id] = each != nil && each.Active
	}
	oem, saved := r.environment("/run/elemental/efi/grub_oem_env"), r.environment("/oem/grubenv")
	found.Passive, found.Fallback, found.Check = oem.Get(grub.PassiveSnapshots), oem.Get(grub.DefaultFallback), saved.Get("boot_assessment_check")
	found.Mounts = slices.DeleteFunc(r.targets(), func(target string) bool { return slices.Contains(r.before, target) })
	found.Loops = []string{}
	for _, each := range leftOn(r.loops) {
		if _, name, isSnapshot := strings.Cut(each.file, "/.snapshots/"); isSnapshot {
			found.Loops = append(found.Loops, name)
		}
	}
	slices.Sort(found.Loops)
	return found
}

// CutRecord implements elemental.Host.
func (r real) CutRecord(text string) {
	GinkgoHelper()
	elemental.CutRecord(r.path(stateDir+"/state.yaml"), text)
}

// Fill implements elemental.Host.
func (r real) Fill() {
	GinkgoHelper()
	r.within(fmt.Sprintf(fill, 100))
}

// Whole implements elemental.Host.
func (r real) Whole(snapshot int) bool {
	GinkgoHelper()
	image := r.path(fmt.Sprintf("%s/.snapshots/%d/snapshot.img", stateDir, snapshot))
	content, err := exec.Command("debugfs", "-R", "cat "+largeFile, image).Output()
	Expect(err).NotTo(HaveOccurred())
	return string(content) == large[largeFile]
}

// Mode implements elemental.Host.
func (r real) Mode(snapshot int, path string) int64 {
	GinkgoHelper()
	image := r.path(fmt.Sprintf("%s/.snapshots/%d/snapshot.img", stateDir, snapshot))
	found := regexp.MustCompile(`Mode: +(\d+)`).FindStringSubmatch(osimage.Run("debugfs", "-R", "stat /"+path, image))
	Expect(found).NotTo(BeNil(), "%s is not in the snapshot", path)
	mode, err := strconv.ParseInt(found[1], 8, 64)
	Expect(err).NotTo(HaveOccurred())
	return mode
}

// targets of all mounts of the booted system, sorted.
func (m *machine) targets() []string {
	GinkgoHelper()
	table, err := os.ReadFile(m.path("/proc/1/mountinfo"))
	Expect(err).NotTo(HaveOccurred())
	targets := []string{}
	for line := range strings.Lines(string(table)) {
		targets = append(targets, filepath.Clean(strings.Fields(line)[4]))
	}
	slices.Sort(targets)
	return targets
}
