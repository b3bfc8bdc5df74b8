// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/elemental"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

const (
	stateDir  = "/run/initramfs/elemental-state"
	snapshots = stateDir + "/.snapshots"
	twoDigest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// rig is an Elemental host that consists of files, with processes that do what is told.
type rig struct {
	root   string
	runner *systemtest.Runner
	clock  *systemtest.Clock
	plugin *elemental.Plugin
	// sync, if set, is called when a file system is flushed.
	sync func(path string)
	// subvolume is the snapshot that is the default of btrfs.
	subvolume int
}

func newRig() *rig {
	r := &rig{root: GinkgoT().TempDir(), runner: &systemtest.Runner{}, clock: systemtest.NewClock()}
	host := &system.Host{Root: r.root, Runner: r.runner, Clock: r.clock}
	r.plugin = elemental.New(elemental.Options{
		Host: host, Log: slog.New(slog.NewTextHandler(GinkgoWriter, nil)), WorkDir: r.path("/work"),
		ConfigPath: r.path("/etc/elemental/agent/config.yaml"), RebootTimeout: time.Minute,
		Sync: func(path string) error {
			if r.sync != nil {
				r.sync(strings.TrimPrefix(path, r.root))
			}
			return nil
		},
	})
	r.write("/proc/sys/kernel/random/boot_id", "boot-1\n")
	r.write("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Elemental 2\"\n")
	r.write("/etc/elemental/agent/config.yaml", "registration: {}\n")
	r.write("/oem/grubenv", "")
	r.runner.On("grub2-editenv", r.editGrub)
	r.runner.Say("umount", "")
	r.runner.Say("mount", "")
	r.boot(2, "active")
	return r
}

func (r *rig) path(path string) string { return filepath.Join(r.root, path) }

func (r *rig) write(path, content string) {
	GinkgoHelper()
	Expect(os.MkdirAll(filepath.Dir(r.path(path)), 0o755)).To(Succeed())
	Expect(os.WriteFile(r.path(path), []byte(content), 0o600)).To(Succeed())
}

func (r *rig) read(path string) string {
	GinkgoHelper()
	content, err := os.ReadFile(r.path(path))
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

func (r *rig) boot(snapshot int, mode string) {
	Expect(os.RemoveAll(r.path("/run/elemental"))).To(Succeed())
	r.write("/run/elemental/"+mode+"_mode", "1")
	r.mount("7:0 / /", "254:4 / "+stateDir)
	r.write("/sys/dev/block/7:0/loop/backing_file", fmt.Sprintf("%s/%d/snapshot.img\n", snapshots, snapshot))
	r.runner.Say("losetup -ln", "/dev/loop0   7:0     254:4  \n")
}

// bootSubvolume has the host run a snapshot of btrfs, which is the default, too.
func (r *rig) bootSubvolume(snapshot int) {
	r.mount(fmt.Sprintf("0:40 /@/.snapshots/%d/snapshot /", snapshot), "0:40 /@ "+stateDir)
	r.subvolume = snapshot
	r.runner.On("btrfs", r.btrfs)
}

// btrfs is the command: it keeps the default subvolume, and deletes those that are there.
func (r *rig) btrfs(command system.Command) system.Result {
	verb, path := command.Args[1], command.Args[2]
	switch verb {
	case "get-default":
		return system.Result{Stdout: fmt.Sprintf("ID 270 gen 40 top level 257 path @/.snapshots/%d/snapshot\n", r.subvolume)}
	case "set-default":
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		Expect(err).NotTo(HaveOccurred())
		r.subvolume = id
	case "delete":
		Expect(filepath.Base(path)).To(Equal("snapshot"))
		Expect(os.RemoveAll(path)).To(Succeed())
	}
	return system.Result{}
}

// mount replaces the mount table: device, root and target of each mount, and the options of its file system unless they are "rw".
func (r *rig) mount(mounts ...string) {
	table := ""
	for i, each := range mounts {
		fields := append(strings.Fields(each), "rw")
		table += fmt.Sprintf("%d 1 %s %s %s rw,relatime shared:1 - ext4 /dev/x %s\n", 20+i, fields[0], fields[1], fields[2], fields[3])
	}
	r.write("/proc/self/mountinfo", table)
}

// snapshot makes a snapshot with an image of that content; with "-" it is half written.
func (r *rig) snapshot(id int, image string) {
	if image == "-" {
		r.write(fmt.Sprintf("%s/%d/snapshot.workDir/etc/x", snapshots, id), "x")
		return
	}
	r.write(fmt.Sprintf("%s/%d/snapshot.img", snapshots, id), image)
}

func (r *rig) link(id int) {
	GinkgoHelper()
	link := r.path(snapshots + "/active")
	_ = os.Remove(link)
	Expect(os.Symlink(fmt.Sprintf("%d/snapshot.img", id), link)).To(Succeed())
}

func (r *rig) unlink() { Expect(os.Remove(r.path(snapshots + "/active"))).To(Succeed()) }

func (r *rig) linked() string {
	target, err := os.Readlink(r.path(snapshots + "/active"))
	Expect(err).NotTo(HaveOccurred())
	return target
}

// state writes state.yaml with lines of snapshots, as "id: {...}", and what a record of the CLI has besides.
func (r *rig) state(lines ...string) {
	GinkgoHelper()
	for i, line := range lines {
		lines[i] = recorded(line)
	}
	r.write(stateDir+"/state.yaml", "snapshotter:\n  type: loopdevice\nstate:\n  label: COS_STATE\n  snapshots:\n    "+
		strings.Join(lines, "\n    ")+"\n")
}

// recorded adds source, date and action to a snapshot "id: {...}" without them.
func recorded(line string) string {
	if strings.Contains(line, "source:") {
		return line
	}
	return strings.Replace(line, "{", `{source: "oci://registry/os:v1", date: "2026-01-02T03:04:05Z", fromAction: upgrade, `, 1)
}

// isActive is the line of the record of the default.
const isActive = "            active: true\n"

// written is the record of a snapshot as the CLI indents it.
func written(id int) string {
	return fmt.Sprintf("            source: oci://registry/os:v%d\n            digest: sha256:%d\n"+
		"            date: \"2026-01-02T03:04:05Z\"\n            fromAction: upgrade\n", id, id)
}

func (r *rig) ids() []string {
	entries, err := os.ReadDir(r.path(snapshots))
	Expect(err).NotTo(HaveOccurred())
	var ids []string
	for _, entry := range entries {
		if entry.IsDir() {
			ids = append(ids, entry.Name())
		}
	}
	return ids
}

// grub sets the variables of an environment block.
func (r *rig) grub(path string, variables ...string) { r.write(path, strings.Join(variables, "\n")) }

func (r *rig) grubenv() []string {
	lines := strings.Fields(r.read("/oem/grubenv"))
	slices.Sort(lines)
	return lines
}

// tornGrub is a block whose writer was killed.
const tornGrub = "torn"

// editGrub is grub2-editenv on a file with a line for each variable.
func (r *rig) editGrub(command system.Command) system.Result {
	path, verb, args := command.Args[0], command.Args[1], command.Args[2:]
	content, err := os.ReadFile(path)
	if err != nil && verb != "create" {
		return system.Result{ExitCode: 1, Stderr: err.Error()}
	}
	if string(content) == tornGrub && verb != "create" {
		return system.Result{ExitCode: 1, Stderr: "grub2-editenv: error: environment block too small."}
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if verb == "create" {
		lines = nil
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+"=") })
		if verb == "set" {
			lines = append(lines, arg)
		}
	}
	Expect(os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600)).To(Succeed())
	return system.Result{Stdout: strings.Join(lines, "\n")}
}
