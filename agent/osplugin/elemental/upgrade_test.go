// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("Writing an image", func() {
	var r *rig
	ctx := context.Background()
	request := osplugin.Upgrade{Attempt: "a1", Image: "127.0.0.1:5001/elemental/os@" + twoDigest}

	BeforeEach(func() {
		r = newRig()
		r.snapshot(1, "older")
		r.snapshot(2, "old")
		r.link(2)
		r.state(`1: {digest: "sha256:0"}`, `2: {digest: "sha256:1", active: true}`)
		r.boot(2, "active")
		r.grub("/oem/grubenv")
		r.grub(oemEnv, "passive_snaps=1", "default_fallback=0 1 2")
	})

	upgradeError := func() error {
		_, err := r.plugin.Upgrade(ctx, request)
		return err
	}

	It("has what runs booted again until the image is known to be whole", func() {
		var met []string
		r.runner.On("elemental", func(system.Command) system.Result {
			met = append(r.grubenv(), strings.Split(r.read(oemEnv), "\n")...)
			return system.Result{}
		})
		Expect(r.plugin.Upgrade(ctx, request)).To(BeZero())
		Expect(met).To(ConsistOf("next_entry=passive2", "passive_snaps=2 1", "default_fallback=0 1 2 3"))
		Expect(r.grubenv()).To(ConsistOf("next_entry=passive2"))
		Expect(r.plugin.BootNewest(ctx)).To(Succeed())
		Expect(r.grubenv()).To(BeEmpty())
	})

	DescribeTable("calls the CLI as it wants to be called",
		func(version wire.OSVersion, call string, env []string) {
			r.runner.Say("elemental", "")
			request.Version = version
			Expect(r.plugin.Upgrade(ctx, request)).To(BeZero())
			commands := r.runner.Commands()
			last := commands[len(commands)-1]
			Expect(last.String()).To(Equal(call))
			Expect(last.Env).To(Equal(env))
		},
		Entry("plainly", wire.OSVersion{}, "elemental upgrade", []string{
			"ELEMENTAL_UPGRADE_SYSTEM=oci:127.0.0.1:5001/elemental/os@" + twoDigest,
			"ELEMENTAL_UPGRADE_RECOVERY=false", "ELEMENTAL_UPGRADE_SNAPSHOT_LABELS=correlationID=a1",
		}),
		Entry("with recovery, aloud", wire.OSVersion{UpgradeRecovery: true, Debug: true}, "elemental --debug upgrade", []string{
			"ELEMENTAL_UPGRADE_SYSTEM=oci:127.0.0.1:5001/elemental/os@" + twoDigest,
			"ELEMENTAL_UPGRADE_RECOVERY=true", "ELEMENTAL_UPGRADE_SNAPSHOT_LABELS=correlationID=a1",
			"ELEMENTAL_UPGRADE_RECOVERY_SYSTEM=oci:127.0.0.1:5001/elemental/os@" + twoDigest,
		}),
	)

	It("says what the CLI said, without what differs from try to try", func() {
		r.runner.Fail("elemental", 1, "time=1 start\npulling 127.0.0.1:5001/x failed\n")
		Expect(upgradeError()).To(MatchError("elemental upgrade: exit code 1: pulling the agent's registry/x failed"))
	})

	It("says which errors the CLI logged first", func() {
		r.runner.On("elemental", func(system.Command) system.Result {
			return system.Result{ExitCode: 1, Stderr: "Output: umount: busy.", Stdout: "\x1b[36mINFO\x1b[0m[2026-11-22T17:50:49Z] Starting \n" +
				"\x1b[31mERRO\x1b[0m[2026-11-22T17:50:50Z] Could not find kernel: no Kernel in 127.0.0.1:5001/x \n" +
				"\x1b[31mERRO\x1b[0m[2026-11-22T17:50:50Z] failed deploying recovery image \n" +
				"\x1b[31mERRO\x1b[0m[2026-11-22T17:50:51Z] Error unmounting \n"}
		})
		Expect(upgradeError()).To(MatchError("elemental upgrade: exit code 1: " +
			"Could not find kernel: no Kernel in the agent's registry/x; failed deploying recovery image"))
	})

	It("cuts what was said between two characters", func() {
		r.runner.Fail("elemental", 1, strings.Repeat("ä", 400))
		Expect(upgradeError()).To(MatchError(HaveSuffix("ä...")))
		r.runner.Fail("elemental", 1, "x"+strings.Repeat("ä", 400))
		Expect(upgradeError()).To(MatchError(HaveSuffix("ä...")))
	})

	// What the CLI v2.3.2 logs at exit code 0.
	DescribeTable("returns the end of what the CLI printed when it ended with 0", func(log, end string) {
		r.runner.Say("elemental", log)
		Expect(r.plugin.Upgrade(ctx, request)).To(HaveField("End", end))
	},
		Entry("nothing", "", ""),
		Entry("a line that is no entry of its log", "done\n", "done"),
		Entry("the last entries", "INFO[0001] one \nINFO[0002] two \nINFO[0003] Copying 127.0.0.1:5001/x\nINFO[0004] Upgrade completed \n",
			"two; Copying the agent's registry/x; Upgrade completed"),
		Entry("no more than the last 300 bytes", "INFO[0001] "+strings.Repeat("a", 299)+"bc\n", "..."+strings.Repeat("a", 298)+"bc"),
	)

	DescribeTable("warns of what the CLI only logs when it has failed",
		func(log string, warnings ...string) {
			r.runner.Say("elemental", log)
			Expect(r.plugin.Upgrade(ctx, request)).To(HaveField("Warnings", warnings))
		},
		Entry("stages of two hooks, each with the output of its command and a summary",
			"\x1b[36mINFO\x1b[0m[2026-11-23T09:33:21Z] Running before-upgrade hook                  \n"+
				"\x1b[31mERRO\x1b[0m[2026-11-23T09:33:21Z] no cache\n : failed to run echo no cache >&2; exit 3: exit status 3 \n"+
				"\x1b[31mERRO\x1b[0m[2026-11-23T09:33:21Z] 1 error occurred:\n\t* failed to run echo no cache >&2; exit 3: exit status 3\n \n"+
				"\x1b[36mINFO\x1b[0m[2026-11-23T09:33:21Z] Starting snapshotter transaction             \n"+
				"\x1b[36mINFO\x1b[0m[2026-11-23T09:33:22Z] Running post-upgrade hook                    \n"+
				"\x1b[31mERRO\x1b[0m[2026-11-23T09:33:22Z] : failed to run false: exit status 1 \n"+
				"\x1b[31mERRO\x1b[0m[2026-11-23T09:33:22Z] : failed to run exit 2: exit status 2 \n"+
				"\x1b[31mERRO\x1b[0m[2026-11-23T09:33:22Z] 2 errors occurred:\n\t* failed to run false: exit status 1\n\t* failed to run exit 2: exit status 2\n \n"+
				"\x1b[36mINFO\x1b[0m[2026-11-23T09:33:22Z] Upgrade completed                            \n",
			"cloud-init stage before-upgrade failed: no cache: failed to run echo no cache >&2; exit 3: exit status 3",
			"cloud-init stage post-upgrade failed: failed to run false: exit status 1"),
		Entry("anything else", "INFO[0001] Closing snapshotter transaction \nERRO[0002] failed unmounting 127.0.0.1:5001/x \n",
			`elemental upgrade said after "Closing snapshotter transaction": failed unmounting the agent's registry/x`),
		Entry("more than is kept", strings.Repeat("INFO[0001] Running x hook\nERRO[0002] y\n", 5),
			"cloud-init stage x failed: y", "cloud-init stage x failed: y", "cloud-init stage x failed: y", "cloud-init stage x failed: y"),
		Entry("at length", "INFO[0001] Running x hook\nERRO[0002] "+strings.Repeat("y", 301), "cloud-init stage x failed: "+strings.Repeat("y", 300)+"..."),
	)

	It("knows a killed CLI", func() {
		r.runner.Fail("elemental", -1, "")
		Expect(upgradeError()).To(MatchError("elemental upgrade was killed"))
	})

	DescribeTable("is done when the snapshot is there",
		func(line, image string, link, found int) {
			r.snapshot(2, "old")
			r.snapshot(3, image)
			r.link(link)
			r.state(`2: {digest: "sha256:1", active: true}`, line)
			Expect(r.plugin.Written(ctx, "a1", twoDigest)).To(BeEquivalentTo(found))
		},
		Entry("recorded, whole, the default", `3: {digest: "`+twoDigest+`", active: true, labels: {correlationID: a1}}`, "x", 3, 3),
		Entry("active is not said of it, but the link is set", `3: {digest: "`+twoDigest+`", labels: {correlationID: a1}}`, "x", 3, 3),
		Entry("another attempt's", `3: {digest: "`+twoDigest+`", active: true, labels: {correlationID: a0}}`, "x", 3, 0),
		Entry("another image", `3: {digest: "sha256:3", active: true, labels: {correlationID: a1}}`, "x", 3, 0),
		Entry("an empty image: the disk was full", `3: {digest: "`+twoDigest+`", active: true, labels: {correlationID: a1}}`, "", 3, 0),
		Entry("no image: killed", `3: {digest: "`+twoDigest+`", active: true, labels: {correlationID: a1}}`, "-", 3, 0),
		Entry("not the default", `3: {digest: "`+twoDigest+`", labels: {correlationID: a1}}`, "x", 2, 0),
	)
})

var _ = Describe("Cleaning up after a killed upgrade", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		r.snapshot(1, "old")
		r.snapshot(2, "booted")
		r.link(2)
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2", active: true}`)
	})

	DescribeTable("removes what is not whole and not recorded",
		func(images map[int]string, link int, ids []string, linked string) {
			for id, content := range images {
				r.snapshot(id, content)
			}
			r.link(link)
			Expect(r.plugin.Clean(ctx)).To(Succeed())
			Expect(r.ids()).To(Equal(ids))
			Expect(r.linked()).To(Equal(linked))
		},
		Entry("nothing", map[int]string{}, 2, []string{"1", "2"}, "2/snapshot.img"),
		Entry("killed while writing", map[int]string{3: "-"}, 2, []string{"1", "2"}, "2/snapshot.img"),
		Entry("killed before it was recorded", map[int]string{3: "x"}, 3, []string{"1", "2"}, "2/snapshot.img"),
		Entry("an empty image that became the default", map[int]string{3: ""}, 3, []string{"1", "2"}, "2/snapshot.img"),
		Entry("a default that is gone", map[int]string{}, 7, []string{"1", "2"}, "2/snapshot.img"),
		Entry("never the booted one, even without an image to be seen", map[int]string{2: ""}, 2, []string{"1", "2"}, "2/snapshot.img"),
	)

	It("goes by the mount table", func() {
		r.mount("7:0 / /", "254:4 /.snapshots/3/snapshot.workDir /run/elemental/workingtree", "254:3 / /run/elemental/recovery",
			"254:1 / /run/elemental/efi", "254:2 / /oem")
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.runner.Calls()).To(ContainElements(
			"umount "+r.path("/run/elemental/workingtree"), "umount "+r.path("/run/elemental/recovery"),
			"mount -o remount,ro "+r.path("/run/elemental/efi")))
	})

	It("unmounts what is beneath each other, the deepest first, and nothing else", func() {
		r.mount("7:0 / /", "254:4 / "+stateDir, "254:2 / /oem", "254:5 / /run/elemental/persistent",
			"254:4 /.snapshots/3/snapshot.workDir /run/elemental/workingtree", "0:5 / /run/elemental/workingtree/dev",
			"0:6 / /run/elemental/workingtree/dev/pts", "254:2 / /run/elemental/workingtree/oem",
			"254:2 / "+snapshots+"/3/snapshot.workDir/oem", "254:3 / /run/elemental/recovery",
			"7:1 / /run/elemental/recovery/boot-transition/recovery.imgTree", "254:3 / /run/elemental/recovery2")
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.runner.Calls()).To(HaveExactElements(
			"umount "+r.path(snapshots+"/3/snapshot.workDir/oem"),
			"umount "+r.path("/run/elemental/recovery/boot-transition/recovery.imgTree"),
			"umount "+r.path("/run/elemental/workingtree/dev/pts"),
			"umount "+r.path("/run/elemental/workingtree/oem"),
			"umount "+r.path("/run/elemental/workingtree/dev"),
			"umount "+r.path("/run/elemental/recovery"),
			"umount "+r.path("/run/elemental/workingtree"),
			"losetup -ln -O NAME,MAJ:MIN,BACK-MAJ:MIN"))
	})

	It("does not mind a mount that went with another one", func() {
		r.mount("7:0 / /", "254:4 / /run/elemental/workingtree", "254:2 / "+snapshots+"/3/snapshot.workDir/oem")
		r.runner.On("umount", func(command system.Command) system.Result {
			if strings.HasSuffix(command.Args[0], "oem") {
				r.mount("7:0 / /")
				return system.Result{}
			}
			return system.Result{ExitCode: 32, Stderr: "not mounted"}
		})
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		r.mount("7:0 / /", "254:4 / /run/elemental/workingtree")
		Expect(r.plugin.Clean(ctx)).To(MatchError(ContainSubstring("not mounted")))
	})

	It("leaves mounts alone that are as they should be", func() {
		r.mount("7:0 / /", "254:1 / /run/elemental/efi ro")
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.runner.Calls()).To(Equal([]string{"losetup -ln -O NAME,MAJ:MIN,BACK-MAJ:MIN"}))
	})

	It("detaches the loop devices on the disk's partitions, but for the root's", func() {
		r.mount("7:0 / /", "254:4 / "+stateDir, "254:3 / /run/elemental/recovery")
		r.runner.Say("losetup -ln", "/dev/loop0   7:0     254:4  \n/dev/loop1   7:1     254:4  \n"+
			"/dev/loop2   7:2     254:9  \n/dev/loop13  7:13    254:3  \n")
		r.runner.Say("losetup -d", "")
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.runner.Calls()).To(ContainElements("losetup -d /dev/loop1", "losetup -d /dev/loop13"))
		Expect(r.runner.Calls()).NotTo(ContainElement(BeElementOf("losetup -d /dev/loop0", "losetup -d /dev/loop2")))
	})
})

var _ = Describe("A snapshot that is not to be booted", func() {
	var r *rig

	BeforeEach(func() {
		r = newRig()
		r.snapshot(2, "booted")
		r.snapshot(3, "corrupt")
		r.state(`2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
	})

	DescribeTable("is removed, and the booted one becomes the default in its place",
		func(link int) {
			r.link(link)
			Expect(r.plugin.Discard(context.Background(), 3)).To(Succeed())
			Expect(r.ids()).To(Equal([]string{"2"}))
			Expect(r.linked()).To(Equal("2/snapshot.img"))
		},
		Entry("when it is the default", 3),
		Entry("when it is not", 2),
	)

	It("leaves no record: its id is that of the next one", func() {
		r.write(stateDir+"/state.yaml", "# Autogenerated\n\nsnapshotter:\n    type: loopdevice\nstate:\n    label: COS_STATE\n"+
			"    snapshots:\n        2:\n"+written(2)+"        3:\n"+written(3)+isActive)
		r.link(3)
		Expect(r.plugin.Discard(context.Background(), 3)).To(Succeed())
		Expect(r.read(stateDir + "/state.yaml")).To(Equal("# Autogenerated\n\nsnapshotter:\n    type: loopdevice\nstate:\n    label: COS_STATE\n" +
			"    snapshots:\n        2:\n" + written(2) + isActive))
	})

	It("is never the booted one", func() {
		r.link(2)
		Expect(r.plugin.Discard(context.Background(), 2)).To(MatchError(ContainSubstring("it is booted")))
		Expect(r.ids()).To(Equal([]string{"2", "3"}))
	})
})

var _ = Describe("Going down", func() {
	It("is forced when it takes too long, and an error when that does not help", func() {
		r := newRig()
		r.runner.Say("systemctl", "")
		Expect(r.plugin.Reboot(context.Background())).To(MatchError(ContainSubstring("does not go down")))
		Expect(r.runner.Calls()).To(Equal([]string{"systemctl reboot", "systemctl reboot --force"}))
	})

	It("is forced at once when systemd does not want to", func() {
		r := newRig()
		r.runner.Fail("systemctl", 1, "no")
		r.runner.Say("systemctl poweroff --force", "")
		Expect(r.plugin.PowerOff(context.Background())).To(MatchError(ContainSubstring("does not go down")))
		Expect(r.clock.Slept()).To(HaveLen(1))
	})
})
