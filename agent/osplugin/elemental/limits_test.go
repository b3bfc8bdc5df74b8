// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("What is no rubbish of a killed upgrade", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		r.snapshot(1, "old")
		r.snapshot(2, "booted")
		r.link(2)
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2", active: true}`)
	})

	DescribeTable("stays, and what is not whole goes",
		func(prepare func(), ids []string, linked string) {
			prepare()
			Expect(r.plugin.Clean(ctx)).To(Succeed())
			Expect(r.ids()).To(Equal(ids))
			Expect(r.linked()).To(Equal(linked))
		},
		Entry("an upgrade of somebody else's that came to its end", func() {
			r.snapshot(3, "x")
			r.state(`2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
			r.link(3)
		}, []string{"1", "2", "3"}, "3/snapshot.img"),
		Entry("an older one that nobody recorded", func() { r.state(`2: {digest: "sha256:2", active: true}`) }, []string{"1", "2"}, "2/snapshot.img"),
		Entry("a recorded one without its image", func() { r.snapshot(1, "") }, []string{"2"}, "2/snapshot.img"),
		Entry("a recorded one with a directory for an image", func() {
			Expect(os.Remove(r.path(snapshots + "/1/snapshot.img"))).To(Succeed())
			r.write(snapshots+"/1/snapshot.img/x", "x")
		}, []string{"2"}, "2/snapshot.img"),
		Entry("two that were killed while writing", func() {
			r.snapshot(3, "-")
			r.snapshot(4, "-")
		}, []string{"1", "2"}, "2/snapshot.img"),
	)

	It("makes the booted snapshot the default when there is none: the CLI was killed between two", func() {
		r.unlink()
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.linked()).To(Equal("2/snapshot.img"))
	})

	It("makes the booted snapshot the default in place of one that is gone", func() {
		r.link(3)
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.linked()).To(Equal("2/snapshot.img"))
	})

	It("has no configuration of snapper written for images", func() {
		before := r.read(stateDir + "/state.yaml")
		r.runner.Say("elemental upgrade", "")
		_, err := r.plugin.Upgrade(ctx, osplugin.Upgrade{Attempt: "a1", Image: "127.0.0.1:1/os"})
		Expect(err).NotTo(HaveOccurred())
		Expect(r.read(stateDir + "/state.yaml")).To(Equal(before))
	})

	It("is looked for where former toolkits have mounted the state partition", func() {
		Expect(os.Rename(r.path(stateDir), r.path("/run/initramfs/cos-state"))).To(Succeed())
		Expect(r.plugin.Facts(ctx)).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("Digest", "sha256:2")))
	})

	It("is not looked for there where it is mounted as today's have it", func() {
		r.write("/run/initramfs/cos-state/state.yaml", "state: {snapshots: {2: {digest: \"sha256:9\"}}}")
		Expect(r.plugin.Facts(ctx)).To(HaveField("Digest", "sha256:2"))
	})

	It("makes no default of an OS that is no snapshot", func() {
		r.unlink()
		Expect(os.RemoveAll(r.path(snapshots + "/2"))).To(Succeed())
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		_, err := os.Lstat(r.path(snapshots + "/active"))
		Expect(os.IsNotExist(err)).To(BeTrue())
	})
})

var _ = Describe("The EFI partition", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		for id := range 3 {
			r.snapshot(id+1, "x")
		}
		r.link(3)
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
		r.grub(oemEnv, "passive_snaps=3 1", "default_fallback=0 1 2")
	})
	remounts := func() int {
		count := 0
		for _, call := range r.runner.Calls() {
			if strings.Contains(call, "remount,rw") {
				count++
			}
		}
		return count
	}

	DescribeTable("is made writable where it is mounted and is not",
		func(times int, mounts ...string) {
			r.mount(append([]string{"7:0 / /", "254:4 / " + stateDir}, mounts...)...)
			Expect(r.plugin.BootAlways(ctx, 2, 0)).To(Succeed())
			Expect(r.read(oemEnv)).To(ContainSubstring("default_fallback=0 1 2 3"), "the same snapshots, and other fallbacks")
			Expect(remounts()).To(Equal(times))
		},
		Entry("not mounted", 0),
		Entry("writable", 0, "254:1 / /run/elemental/efi"),
		Entry("read-only", 1, "254:1 / /run/elemental/efi ro"),
	)

	It("is made writable for a block that has to be recreated, too", func() {
		r.mount("7:0 / /", "254:4 / "+stateDir, "254:1 / /run/elemental/efi ro")
		r.grub(oemEnv, tornGrub)
		Expect(r.plugin.BootAlways(ctx, 2, 0)).To(Succeed())
		Expect(remounts()).To(Equal(2))
	})
})

var _ = Describe("An upgrade", func() {
	var r *rig
	ctx := context.Background()
	request := osplugin.Upgrade{Attempt: "a1", Image: "127.0.0.1:5001/elemental/os@" + twoDigest}

	BeforeEach(func() {
		r = newRig()
		r.snapshot(2, "booted")
		r.link(2)
		r.state(`2: {digest: "sha256:2", active: true}`)
		r.runner.Say("elemental", "")
	})

	upgrade := func() error {
		_, err := r.plugin.Upgrade(ctx, request)
		return err
	}

	It("makes GRUB's block where there is none", func() {
		Expect(os.Remove(r.path("/oem/grubenv"))).To(Succeed())
		r.runner.On("grub2-editenv", func(command system.Command) system.Result { // it makes a block that is not there
			if _, err := os.Stat(command.Args[0]); os.IsNotExist(err) {
				Expect(os.WriteFile(command.Args[0], nil, 0o600)).To(Succeed())
			}
			return r.editGrub(command)
		})
		Expect(upgrade()).To(Succeed())
		Expect(r.grubenv()).To(Equal([]string{"next_entry=passive2"}))
	})

	It("does not empty an installation state that it cannot read", func() {
		const broken = "state:\n  snapshots: {2: {dig"
		r.write(stateDir+"/state.yaml", broken)
		Expect(upgrade()).To(Succeed())
		Expect(r.read(stateDir + "/state.yaml")).To(Equal(broken))
	})

	It("waits for another one, tells so once, and waits for no lock that the agent holds itself", func() {
		waited := 0
		lock, err := system.Lock(r.path("/run/elemental-agent/elemental.lock"))
		Expect(err).NotTo(HaveOccurred())
		told := []string{}
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		_, err = r.plugin.Exclusive(cancelled, func(reason string) { told = append(told, reason) })
		Expect(err).To(MatchError(context.Canceled))
		Expect(told).To(HaveExactElements(ContainSubstring("is running: it holds /run/elemental-agent/elemental.lock")))

		Expect(lock.Close()).To(Succeed())
		release, err := r.plugin.Exclusive(ctx, func(string) { waited++ })
		Expect(err).NotTo(HaveOccurred())
		Expect(upgrade()).To(Succeed())
		release()
		Expect(waited).To(BeZero())
	})

	DescribeTable("fails for what the CLI said",
		func(said system.Result, reason string) {
			said.ExitCode = 1
			r.runner.On("elemental", func(system.Command) system.Result { return said })
			Expect(upgrade()).To(MatchError("elemental upgrade: exit code 1: " + reason))
		},
		Entry("in more lines than one, after some that are of no entry",
			system.Result{Stdout: "Starting\nERRO[x] no image\n\t* no network\n"}, "no image no network"),
		Entry("with the step before the error, not one after it",
			system.Result{Stdout: "INFO[x] Formatting\nERRO[x] exit status 1\nINFO[x] Unmounting\n"}, `exit status 1 after "Formatting"`),
		Entry("without a step", system.Result{Stdout: "ERRO[x] exit status 1\n"}, "exit status 1"),
		Entry("in as many characters as are shown", system.Result{Stderr: strings.Repeat("x", 300)}, strings.Repeat("x", 300)),
	)
})

var _ = DescribeTable("A snapshot of btrfs is none", func(prepare func(*rig)) {
	r := newRig()
	r.write(stateDir+"/state.yaml", "snapshotter: {type: btrfs}\nstate: {snapshots: {2: {active: true}, 3: {}}}\n")
	r.snapshot(2, "x")
	prepare(r)
	Expect(r.plugin.BootAlways(context.Background(), 3, 0)).To(MatchError(osplugin.ErrNoSuchSnapshot))
},
	Entry("where there is no tree", func(*rig) {}),
	Entry("where its tree is a file", func(r *rig) { r.write(snapshots+"/3/snapshot", "x") }),
)

var _ = Describe("A record of a snapshot", func() {
	It("goes where it is the first of all, too", func() {
		r := newRig()
		r.snapshot(1, "corrupt")
		r.snapshot(2, "booted")
		r.link(2)
		r.write(stateDir+"/state.yaml", "state:\n    snapshots:\n        1:\n"+written(1)+"        2:\n"+written(2))
		Expect(r.plugin.Discard(context.Background(), 1)).To(Succeed())
		Expect(r.read(stateDir + "/state.yaml")).To(Equal("state:\n    snapshots:\n        2:\n" + written(2) + isActive))
	})
})

var _ = Describe("A reset in recovery", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		r.boot(0, "recovery")
		r.runner.Say("elemental reset", "")
	})

	DescribeTable("has the EFI partition writable",
		func(expected OmegaMatcher, options string) {
			r.mount("0:22 / /run", "254:2 / /oem", "254:1 / /run/elemental/efi "+options)
			Expect(r.plugin.Reset(ctx, nil)).To(Succeed())
			Expect(r.runner.Calls()).To(expected)
			Expect(r.runner.Calls()).NotTo(ContainElement("mount "+r.path("/oem")), "it is still mounted")
		},
		Entry("before it begins", ContainElement(HavePrefix("mount -o remount,rw ")), "ro"),
		Entry("as it is", Not(ContainElement(HavePrefix("mount -o remount,rw "))), ""),
	)

	It("leaves the configuration to the host, and to the next reset", func() {
		Expect(r.plugin.Reset(ctx, nil)).To(Succeed())
		for _, path := range []string{"/etc/elemental/agent/config.yaml", "/oem/elemental/agent/config.yaml"} {
			Expect(r.read(path)).To(Equal("registration: {}\n"))
		}
	})
})

var _ = It("An installation goes by the device, where a selector is named beside it", func() {
	r := newRig()
	r.boot(0, "live")
	r.runner.Say("elemental install", "")
	options := `{"device":"/dev/sda","deviceSelector":[{"key":"Name","operator":"In","values":["/dev/sdb"]}]}`
	Expect(r.plugin.Install(context.Background(), json.RawMessage(options))).To(Succeed())
	Expect(r.runner.Commands()[0].Env).To(ContainElement("ELEMENTAL_INSTALL_TARGET=/dev/sda"))
})

var _ = DescribeTable("A user's password", func(fields, expected string) {
	r := newRig()
	config := fmt.Sprintf("#cloud-config\nusers: [{name: x, lock_passwd: false, %s}]\n", fields)
	Expect(r.plugin.Bootstrap(context.Background(), wire.Bootstrap{Format: "cloud-config", Config: config})).To(Succeed())
	Expect(r.read("/oem/bootstrap-cloud-config.yaml")).To(ContainSubstring("passwd: " + expected + "\n"))
},
	Entry("by the one name", "passwd: a", "a"),
	Entry("by the other", "hashed_passwd: b", "b"),
	Entry("by both", "passwd: a, hashed_passwd: b", "a"),
)

var _ = DescribeTable("A user is locked", func(fields string) {
	r := newRig()
	config := fmt.Sprintf("#cloud-config\nusers: [{name: x, %s}]\n", fields)
	Expect(r.plugin.Bootstrap(context.Background(), wire.Bootstrap{Format: "cloud-config", Config: config})).To(Succeed())
	written := r.read("/oem/bootstrap-cloud-config.yaml")
	Expect(written).To(ContainSubstring("lock_passwd: true"))
	Expect(written).NotTo(ContainSubstring(" passwd:"))
},
	Entry("without a password", "shell: /bin/sh"),
	Entry("without a password, which the engine would make an empty one", "lock_passwd: false"),
	Entry("with a password, by default", "passwd: a"),
	Entry("where the data lock it", "passwd: a, lock_passwd: true"),
)

var _ = It("What a link among the copied files names keeps its mode", func() {
	r := newRig()
	r.write("/usr/share/public.yaml", "x")
	Expect(os.Chmod(r.path("/usr/share/public.yaml"), 0o644)).To(Succeed())
	Expect(os.Symlink(r.path("/usr/share/public.yaml"), r.path("/oem/90_custom.yaml"))).To(Succeed())
	Expect(r.plugin.Init(context.Background())).To(Succeed())
	info, err := os.Stat(r.path("/usr/share/public.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(info.Mode().Perm()).To(BeEquivalentTo(0o644))
})

var _ = It("A host is given as long to go down as is configured", func() {
	r := newRig()
	r.runner.Say("systemctl", "")
	Expect(r.plugin.Reboot(context.Background())).NotTo(Succeed())
	Expect(r.clock.Slept()).To(HaveEach(BeNumerically("==", 60_000_000_000)))
})
