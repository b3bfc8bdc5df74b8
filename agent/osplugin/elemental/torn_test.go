// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"context"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// What others write in place is half written when the power is lost.
var _ = Describe("A host whose power was lost while something was written in place", func() {
	const stateYAML, oemEnv = stateDir + "/state.yaml", "/run/elemental/efi/grub_oem_env"
	ctx := context.Background()
	var r *rig
	torn := string(make([]byte, 512))

	variables := func() []string {
		GinkgoHelper()
		return strings.Split(r.read(oemEnv), "\n")
	}
	upgrade := func() {
		GinkgoHelper()
		r.runner.Say("elemental", "")
		Expect(r.plugin.Upgrade(ctx, osplugin.Upgrade{Attempt: "a1", Image: "127.0.0.1:1/e/os@" + twoDigest})).To(HaveField("Warnings", BeEmpty()))
	}

	BeforeEach(func() {
		r = newRig()
		r.boot(2, "active")
		for id := range 3 {
			r.snapshot(id+1, "x")
		}
		r.link(3)
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
		r.grub("/oem/grubenv")
		r.grub(oemEnv, "state_label=OTHER", "default_menu_entry=Elemental")
		r.mount("7:0 / /", "254:4 / "+stateDir, "254:1 / /run/elemental/efi ro")
	})

	Describe("the list of fallbacks", func() {
		It("is written again, with the labels of what is installed", func() {
			r.write(stateYAML, r.read(stateYAML)+"recovery: {label: RECOVERY}\n")
			r.grub(oemEnv, tornGrub)
			Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
			Expect(variables()).To(ConsistOf("oem_label=COS_OEM", "persistent_label=COS_PERSISTENT", "recovery_label=RECOVERY", "state_label=COS_STATE",
				"passive_snaps=1", "default_fallback=0 1 2"))
			Expect(r.runner.Calls()[len(r.runner.Calls())-1]).NotTo(ContainSubstring("remount,rw"))
		})
		It("has all that it had when the agent wrote it last", func() {
			Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
			r.grub(oemEnv, tornGrub)
			Expect(r.plugin.BootAlways(ctx, 2, 0)).To(Succeed())
			Expect(variables()).To(ContainElements("state_label=OTHER", "default_menu_entry=Elemental", "passive_snaps=3 1"))
		})
		It("is as broken as before, not empty, when the agent is killed meanwhile", func() {
			Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
			r.grub(oemEnv, tornGrub)
			r.runner.On("grub2-editenv", func(command system.Command) system.Result {
				if command.Args[1] == "set" {
					return system.Result{ExitCode: -1}
				}
				return r.editGrub(command)
			})
			Expect(r.plugin.BootAlways(ctx, 2, 0)).To(Succeed())
			Expect(r.read(oemEnv)).To(Equal(tornGrub))
			r.runner.On("grub2-editenv", r.editGrub)
			Expect(r.plugin.BootAlways(ctx, 2, 0)).To(Succeed())
			Expect(variables()).To(ContainElements("state_label=OTHER", "passive_snaps=3 1"))
		})
		It("keeps nobody from an upgrade", func() {
			r.grub(oemEnv, tornGrub)
			upgrade()
			Expect(variables()).To(ContainElement("passive_snaps=2 3 1"))
		})
		It("keeps nobody from going back, not even when it cannot be written", func() {
			r.grub(oemEnv, tornGrub)
			r.runner.Fail("mount -o remount,rw", 32, "write-protected")
			Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
			Expect(r.linked()).To(Equal("2/snapshot.img"))
			Expect(r.grubenv()).To(BeEmpty())
		})
	})

	Describe("the way back", func() {
		It("takes no space", func() {
			r.grub("/oem/grubenv", "saved_entry=recovery")
			Expect(os.RemoveAll(r.path("/work"))).To(Succeed())
			r.write("/work", "in the way of a directory, as a full disk is")
			Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
			Expect(r.grubenv()).To(BeEmpty())
		})
		It("leaves no older copy that would be taken for the newest", func() {
			r.grub("/oem/grubenv", "saved_entry=recovery", "of=the full disk")
			r.write("/run/elemental-agent/grubenv", "saved_entry=recovery\nof=long ago")
			Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
			Expect(r.path("/run/elemental-agent/grubenv")).NotTo(BeAnExistingFile())
		})
	})

	DescribeTable("the installation state is that from before the upgrade", func(broken string) {
		upgrade()
		r.write(stateYAML, broken)
		Expect(r.plugin.Facts(ctx)).To(And(HaveField("Digest", "sha256:2"), HaveField("Unfinished", false)))
		upgrade()
		Expect(r.read(stateYAML)).To(ContainSubstring("sha256:2"), "the CLI reads it, too")
	},
		Entry("when nothing of it is on the disk", ""),
		Entry("when its blocks are not", torn),
		Entry("when it ends before its snapshots", "snapshotter:\n  type: loopdevice\n"),
		Entry("when it ends in the middle", "state:\n  snapshots: {1: {dig"),
	)

	It("nothing vouches for what runs when what says who wrote it is not on the disk", func() {
		r.write("/usr/lib/elemental-agent/snapshot.json", torn)
		Expect(r.plugin.Facts(ctx)).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("Unfinished", true)))
	})

	It("nothing vouches for what runs when that was never kept", func() {
		r.write(stateYAML, torn)
		Expect(r.plugin.Facts(ctx)).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("Unfinished", true)))
		Expect(r.plugin.Written(ctx, "a1", twoDigest)).To(BeZero())
		upgrade()
		Expect(r.plugin.Discard(ctx, 3)).To(Succeed())
	})

	It("no snapshot of btrfs is taken for half of one of the other kind", func() {
		for _, id := range []string{"1", "2", "3"} {
			r.write(snapshots+"/"+id+"/snapshot/etc/os-release", "x")
			Expect(os.Remove(r.path(snapshots + "/" + id + "/snapshot.img"))).To(Succeed())
		}
		r.unlink()
		r.bootSubvolume(2)
		r.write(stateYAML, "")
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.ids()).To(ConsistOf("1", "2"), "nothing vouches for what is newer than what runs")
	})
})
