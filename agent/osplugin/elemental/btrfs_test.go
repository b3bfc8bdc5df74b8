// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/elemental"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const inProgress = `<?xml version="1.0"?>
<snapshot>
  <type>single</type>
  <num>3</num>
  <userdata>
    <key>update-in-progress</key>
    <value>yes</value>
  </userdata>
</snapshot>
`

var _ = Describe("Snapshots of btrfs", func() {
	var r *rig

	oem := func() []string { return strings.Split(r.read("/run/elemental/efi/grub_oem_env"), "\n") }
	subvolume := func(id, info string) {
		r.write(snapshots+"/"+id+"/snapshot/etc/os-release", "x")
		r.write(snapshots+"/"+id+"/info.xml", info)
	}

	BeforeEach(func() {
		r = newRig()
		r.bootSubvolume(2)
		r.write(stateDir+"/state.yaml", `snapshotter: {type: btrfs}
state: {snapshots: {`+recorded(`1: {digest: "sha256:1"}`)+`, `+recorded(`2: {digest: "`+twoDigest+`"}`)+
			`, `+recorded(`3: {active: true, digest: "sha256:3", labels: {correlationID: a1}}`)+`}}
`)
		for _, id := range []string{"1", "2", "3"} {
			subvolume(id, "<snapshot/>")
		}
		r.grub("/run/elemental/efi/grub_oem_env", "active_snap=3", "passive_snaps=2 1", "default_fallback=0 1 2 3", "snapshotter=btrfs")
	})

	It("have the default subvolume for a default, whatever is recorded", func(ctx SpecContext) {
		Expect(r.plugin.Written(ctx, "a1", "sha256:3")).To(BeZero())
		r.subvolume = 3
		Expect(r.plugin.Written(ctx, "a1", "sha256:3")).To(BeEquivalentTo(3))
	})

	It("are made the default together with what GRUB goes by", func(ctx SpecContext) {
		r.subvolume = 3
		r.grub("/oem/grubenv", "saved_entry=passive2", "boot_assessment_check=yes")
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
		Expect(r.subvolume).To(Equal(2))
		Expect(oem()).To(ConsistOf("active_snap=2", "passive_snaps=1", "default_fallback=0 1 2", "snapshotter=btrfs"))
		Expect(r.grubenv()).To(BeEmpty())
	})

	It("have an entry of their own chosen while they are made the default", func(ctx SpecContext) {
		r.subvolume = 3
		r.runner.Fail("btrfs subvolume set-default", 1, "no space")
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(MatchError(ContainSubstring("no space")))
		Expect(r.grubenv()).To(Equal([]string{"next_entry=passive2"}))
		Expect(oem()).To(ContainElements("active_snap=3", "passive_snaps=2 1"))
	})

	It("are not the default when they are half written", func(ctx SpecContext) {
		subvolume("3", inProgress)
		Expect(r.plugin.BootAlways(ctx, 3, 0)).To(MatchError(osplugin.ErrNoSuchSnapshot))
	})

	DescribeTable("are removed when they are half written, and the default is one that can be booted",
		func(ctx SpecContext, spoil func()) {
			r.subvolume = 3
			spoil()
			Expect(r.plugin.Clean(ctx)).To(Succeed())
			Expect(r.ids()).To(ConsistOf("1", "2"))
			Expect(r.subvolume).To(Equal(2))
		},
		Entry("which snapper marks", func() { subvolume("3", inProgress) }),
		Entry("with a working directory", func() { r.write(snapshots+"/3/snapshot.workDir/etc/os-release", "x") }),
		Entry("without a record", func() {
			r.write(stateDir+"/state.yaml", `snapshotter: {type: btrfs}
state: {snapshots: {`+recorded(`1: {digest: "sha256:1"}`)+`, `+recorded(`2: {digest: "`+twoDigest+`"}`)+`}}
`)
		}),
	)

	It("have GRUB told of the default that takes the place of one that is removed", func(ctx SpecContext) {
		r.subvolume = 3
		subvolume("3", inProgress)
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(oem()).To(ContainElements("active_snap=2", "passive_snaps=1", "default_fallback=0 1 2"))
		Expect(r.grubenv()).To(BeEmpty())
	})

	It("have GRUB told of the default that takes the place of one that is discarded", func(ctx SpecContext) {
		r.subvolume = 3
		Expect(r.plugin.Discard(ctx, 3)).To(Succeed())
		Expect(oem()).To(ContainElements("active_snap=2", "passive_snaps=1", "default_fallback=0 1 2"))
	})

	It("are the default again where that is none of them", func(ctx SpecContext) {
		r.runner.Say("btrfs subvolume get-default", "ID 5 (FS_TREE)\n")
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.runner.Calls()).To(ContainElement("btrfs subvolume set-default " + r.path(snapshots+"/2/snapshot")))
	})

	It("are the default on the disk before GRUB goes by it", func(ctx SpecContext) {
		r.subvolume = 3
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
		calls := r.runner.Calls()
		set := slices.Index(calls, "btrfs subvolume set-default "+r.path(snapshots+"/2/snapshot"))
		Expect(calls[set+1]).To(Equal("btrfs filesystem sync " + r.path(stateDir)))
		Expect(strings.Join(calls[:set], "\n")).NotTo(ContainSubstring("active_snap"))
		Expect(strings.Join(calls[set:], "\n")).To(ContainSubstring("active_snap=2"))
	})

	It("keep an entry of their own until GRUB is told of the default", func(ctx SpecContext) {
		r.subvolume = 3
		r.runner.On("grub2-editenv "+r.path("/work/grub_oem_env")+" set", func(command system.Command) system.Result {
			if slices.Contains(command.Args, "active_snap=2") {
				return system.Result{ExitCode: 1, Stderr: "bad disk"}
			}
			return r.editGrub(command)
		})
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(MatchError(ContainSubstring("telling GRUB that snapshot 2 is the default")))
		Expect(r.grubenv()).To(Equal([]string{"next_entry=passive2"}))
	})

	It("are not removed because their description cannot be read", func(ctx SpecContext) {
		r.subvolume = 2
		Expect(os.Remove(r.path(snapshots + "/1/info.xml"))).To(Succeed())
		Expect(os.Mkdir(r.path(snapshots+"/1/info.xml"), 0o700)).To(Succeed()) // reading it fails
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.ids()).To(ContainElement("1"))
	})

	DescribeTable("are removed through snapper where it is used",
		func(ctx SpecContext, answer func(system.Command) system.Result, leaves bool) {
			r.write("/etc/snapper/configs/root", "SUBVOLUME=/")
			subvolume("3", inProgress)
			r.runner.On("snapper", answer)
			Expect(r.plugin.Clean(ctx)).To(Succeed())
			Expect(r.runner.Calls()).To(ContainElement("snapper delete --sync 3"))
			deletesTree := ContainElement("btrfs subvolume delete " + r.path(snapshots+"/3/snapshot"))
			Expect(deletesTree.Match(r.runner.Calls())).To(Equal(leaves), "%v", r.runner.Calls())
			_, err := os.Lstat(r.path(snapshots + "/3"))
			Expect(os.IsNotExist(err)).To(BeTrue())
			Expect(r.ids()).To(ConsistOf("1", "2"))
		},
		Entry("which leaves what else is in the directory", func(system.Command) system.Result {
			Expect(os.RemoveAll(r.path(snapshots + "/3/snapshot"))).To(Succeed())
			r.write(snapshots+"/3/snapshot.workDir/etc/x", "x")
			return system.Result{}
		}, false),
		Entry("unless that does not know them", func(system.Command) system.Result {
			return system.Result{ExitCode: 1, Stderr: "Snapshot '3' not found."}
		}, true),
	)

	It("are removed by a snapper that does not wait for ever for its daemon", func(ctx SpecContext) {
		r.write("/etc/snapper/configs/root", "SUBVOLUME=/")
		subvolume("3", inProgress)
		r.runner.Say("snapper", "")
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.runner.Commands()).To(ContainElement(And(HaveField("Name", "snapper"), HaveField("Timeout", BeNumerically(">", 0)))))
	})

	It("are not removed to make room: nobody knows how much that would be", func(ctx SpecContext) {
		r.runner.Say("df", "Avail\n100\n")
		Expect(r.plugin.MakeRoom(ctx, 1<<40)).To(Succeed())
		Expect(r.ids()).To(ConsistOf("1", "2", "3"))
	})

	It("are all kept when they are whole", func(ctx SpecContext) {
		r.subvolume = 3
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.ids()).To(ConsistOf("1", "2", "3"))
		Expect(r.subvolume).To(Equal(3))
	})

	It("are not removed when the default cannot be read", func(ctx SpecContext) {
		subvolume("3", inProgress)
		r.runner.Fail("btrfs subvolume get-default", 1, "not a btrfs filesystem")
		Expect(r.plugin.Clean(ctx)).To(MatchError(ContainSubstring("reading the default subvolume")))
		Expect(r.ids()).To(ConsistOf("1", "2", "3"))
	})

	It("are not known to be written when the default cannot be read", func(ctx SpecContext) {
		r.write(stateDir+"/state.yaml", "snapshotter: {type: btrfs}\nstate: {snapshots: {"+recorded("2: {digest: \""+twoDigest+"\", labels: {correlationID: a2}}")+"}}\n")
		Expect(r.plugin.Written(ctx, "a2", twoDigest)).To(BeEquivalentTo(2))
		r.runner.Fail("btrfs subvolume get-default", 1, "not a btrfs filesystem")
		_, err := r.plugin.Written(ctx, "a2", twoDigest)
		Expect(err).To(MatchError(ContainSubstring("reading the default subvolume")))
	})

	It("are discarded with what is recorded of them", func(ctx SpecContext) {
		r.subvolume = 3
		Expect(r.plugin.Discard(ctx, 3)).To(Succeed())
		Expect(r.ids()).To(ConsistOf("1", "2"))
		Expect(r.subvolume).To(Equal(2))
		Expect(r.read(stateDir + "/state.yaml")).NotTo(ContainSubstring("sha256:3"))
	})

	It("are named in a state that names no snapshotter, for which the CLI would write an image", func(ctx SpecContext) {
		r.write(stateDir+"/state.yaml", "snapshotter:\nstate: {snapshots: {"+recorded("2: {digest: \""+twoDigest+"\"}")+"}}\n")
		r.runner.Say("elemental upgrade", "")
		_, err := r.plugin.Upgrade(ctx, osplugin.Upgrade{Attempt: "a2", Image: "127.0.0.1:1/x"})
		Expect(err).NotTo(HaveOccurred())
		Expect(r.read(stateDir + "/state.yaml")).To(And(ContainSubstring("type: btrfs"), ContainSubstring(twoDigest)))
	})

	DescribeTable("are written by snapper where that is configured, and only there",
		func(ctx SpecContext, config, configured string, wanted string) {
			r.write(stateDir+"/state.yaml", "snapshotter: {type: btrfs"+config+"}\nstate: {snapshots: {"+recorded("2: {digest: \""+twoDigest+"\"}")+"}}\n")
			if configured != "" {
				r.write("/etc/snapper/configs/root", configured)
			}
			r.runner.Say("elemental upgrade", "")
			_, err := r.plugin.Upgrade(ctx, osplugin.Upgrade{Attempt: "a2", Image: "127.0.0.1:1/x"})
			Expect(err).NotTo(HaveOccurred())
			snapshotter, _, _ := strings.Cut(r.read(stateDir+"/state.yaml"), "\n")
			Expect(snapshotter).To(Equal("snapshotter: {type: btrfs" + wanted + "}"))
		},
		Entry("the CLI has forgotten that there is none", ", max-snaps: 4, config: {}", "", ", max-snaps: 4, config: {snapper: false}"),
		Entry("the CLI has left out its configuration", "", "", ", config: {snapper: false}"),
		Entry("the CLI knows that there is none", ", config: {snapper: false}", "", ", config: {snapper: false}"),
		Entry("the CLI knows that there is one", ", config: {snapper: true}", "", ", config: {snapper: true}"),
		Entry("there is one", ", config: {}", "SUBVOLUME=/", ", config: {}"),
	)

	It("let the next boot choose what runs while one is written", func(ctx SpecContext) {
		r.subvolume = 2
		r.grub("/run/elemental/efi/grub_oem_env", "active_snap=2", "passive_snaps=3 1", "default_fallback=0 1 2 3")
		r.runner.Say("elemental upgrade", "")
		_, err := r.plugin.Upgrade(ctx, osplugin.Upgrade{Attempt: "a2", Image: "127.0.0.1:1/x"})
		Expect(err).NotTo(HaveOccurred())
		Expect(r.grubenv()).To(Equal([]string{"next_entry=passive2"}))
		Expect(oem()).To(ContainElements("active_snap=2", "passive_snaps=2 3 1", "default_fallback=0 1 2 3 4"))
	})

	It("are found by the working tree that is copied over them", func() {
		tree, other := r.path("/run/elemental/workingtree"), r.path("/elsewhere")
		Expect(os.MkdirAll(r.path(snapshots+"/3/snapshot.workDir"), 0o755)).To(Succeed())
		Expect(os.MkdirAll(other, 0o755)).To(Succeed())
		Expect(os.Symlink(r.path(snapshots+"/3/snapshot.workDir"), tree)).To(Succeed()) // the CLI mounts it there
		former, found := elemental.CopiedOver(tree, r.path(snapshots))
		Expect(found).To(BeTrue())
		Expect(former).To(Equal(r.path(snapshots + "/3/snapshot")))
		_, found = elemental.CopiedOver(other, r.path(snapshots))
		Expect(found).To(BeFalse())
		Expect(os.RemoveAll(former)).To(Succeed())
		_, found = elemental.CopiedOver(tree, r.path(snapshots))
		Expect(found).To(BeFalse(), "snapshots that are images have none")
	})
})
