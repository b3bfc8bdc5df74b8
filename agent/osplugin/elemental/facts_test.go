// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
)

var _ = Describe("Facts", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		r.state(`1: {digest: "sha256:1"}`, `2: {source: "oci://r/os:2", digest: "sha256:2", active: true, date: "2026-01-02T03:04:05Z", fromAction: upgrade}`)
	})

	It("are those of the booted snapshot", func() {
		Expect(r.plugin.Facts(ctx)).To(Equal(osplugin.Facts{
			Snapshot: 2, Digest: "sha256:2", Source: "oci://r/os:2", Mode: "active", BootID: "boot-1", Version: "Elemental 2",
		}))
	})

	It("do not follow what state.yaml calls active", func() {
		r.boot(1, "passive")
		Expect(r.plugin.Facts(ctx)).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("Digest", "sha256:1"), HaveField("Mode", "passive")))
	})

	DescribeTable("report whether the upgrade that wrote the snapshot came to its end",
		func(recorded, identity string, unfinished bool, attempt, digest string) {
			r.state(`1: {digest: "sha256:1"}`, recorded)
			if identity != "" {
				r.write("/usr/lib/elemental-agent/snapshot.json", identity)
			}
			Expect(r.plugin.Facts(ctx)).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("Unfinished", unfinished),
				HaveField("Attempt", attempt), HaveField("Digest", digest)))
		},
		Entry("recorded", `2: {digest: "sha256:2", labels: {correlationID: a1}}`, `{"attempt":"a1","digest":"sha256:2"}`, false, "a1", "sha256:2"),
		Entry("recorded, and it does not say which it is", `2: {digest: "sha256:2", labels: {correlationID: a1}}`, "", false, "a1", "sha256:2"),
		Entry("not recorded", `3: {digest: "sha256:3"}`, `{"attempt":"a1","digest":"sha256:2"}`, true, "", ""),
		Entry("not recorded, and it does not say which it is", `3: {digest: "sha256:3"}`, "", true, "", ""),
		Entry("what is recorded is of another attempt's that had its id", `2: {digest: "sha256:2", labels: {correlationID: a0}}`,
			`{"attempt":"a1","digest":"sha256:2"}`, true, "", ""),
		Entry("what is recorded is of another image that had its id", `2: {digest: "sha256:7", labels: {correlationID: a1}}`,
			`{"attempt":"a1","digest":"sha256:2"}`, true, "", ""),
		Entry("written by somebody else, from an image that was made of an attempt's snapshot", `2: {digest: "sha256:7"}`,
			`{"attempt":"a1","digest":"sha256:2"}`, false, "", "sha256:7"),
	)

	DescribeTable("say of which image the recovery system is known to be", func(recorded, digest string) {
		r.state(`1: {digest: "sha256:1", labels: {correlationID: a1}}`, `2: {digest: "sha256:2", active: true, labels: {correlationID: a2}}`)
		r.write(stateDir+"/state.yaml", r.read(stateDir+"/state.yaml")+`recovery: {label: R, recovery: {source: "oci://r/os:0", date: "2026-01-02T03:04:05Z", digest: "sha256:0", `+
			recorded+"}}\n")
		Expect(r.plugin.Facts(ctx)).To(HaveField("RecoveryDigest", digest))
	},
		Entry("installed", "fromAction: install", "sha256:0"),
		Entry("of a disk image", "fromAction: build-disk", "sha256:0"),
		Entry("installed again", "fromAction: reset, labels: {correlationID: a1}", "sha256:0"),
		Entry("upgraded with the former OS", "fromAction: upgrade, labels: {correlationID: a1}", "sha256:1"),
		Entry("upgraded with the running OS", "fromAction: upgrade, labels: {correlationID: a2}", "sha256:2"),
		Entry("upgraded with an OS that is gone", "fromAction: upgrade, labels: {correlationID: a0}", ""),
		Entry("upgraded by a hand", "fromAction: upgrade-recovery", ""),
	)

	It("have no snapshot in recovery", func() {
		r.boot(2, "recovery")
		Expect(r.plugin.Facts(ctx)).To(And(HaveField("Snapshot", BeZero()), HaveField("Digest", BeEmpty()), HaveField("Mode", "recovery")))
	})

	DescribeTable("know the snapshot from the root file system",
		func(file string, mounts []string, id int) {
			r.write("/sys/dev/block/7:0/loop/backing_file", file)
			r.mount(mounts...)
			Expect(r.plugin.Facts(ctx)).To(HaveField("Snapshot", BeEquivalentTo(id)))
		},
		Entry("the file of its loop device", snapshots+"/1/snapshot.img\n", []string{"7:0 / /"}, 1),
		Entry("that file as seen from elsewhere", "/.snapshots/2/snapshot.img\n", []string{"7:0 / /"}, 2),
		Entry("that file, deleted since", snapshots+"/2/snapshot.img (deleted)\n", []string{"7:0 / /"}, 2),
		Entry("what is mounted over the initramfs", snapshots+"/2/snapshot.img\n", []string{"0:1 / /", "7:0 / /"}, 2),
		Entry("btrfs: its subvolume", "", []string{"0:38 /@/.snapshots/2/snapshot /", "0:38 /@ /run/initramfs/elemental-state"}, 2),
	)

	It("do not care which other snapshots are attached to loop devices", func() {
		r.write("/sys/dev/block/7:1/loop/backing_file", snapshots+"/3/snapshot.img\n")
		r.mount("7:0 / /", "7:1 / /run/elemental/workingtree")
		Expect(r.plugin.Facts(ctx)).To(HaveField("Snapshot", BeEquivalentTo(2)))
	})

	DescribeTable("are what can be told, with an error, when the snapshot cannot be",
		func(break_ func(), message string) {
			break_()
			facts, err := r.plugin.Facts(ctx)
			Expect(err).To(MatchError(ContainSubstring(message)))
			Expect(facts).To(Equal(osplugin.Facts{Mode: "active", BootID: "boot-1", Version: "Elemental 2"}))
		},
		Entry("no mount table", func() { r.write("/proc/self/mountinfo", "") }, "has no root file system"),
		Entry("another root", func() { r.mount("254:1 / /") }, `the root file system is on device 254:1 with the file "" and the subvolume "/"`),
		Entry("a loop device of something else", func() { r.write("/sys/dev/block/7:0/loop/backing_file", "/other/file\n") }, `with the file "/other/file"`),
	)

	It("say the mode when not even the boot can be told", func() {
		Expect(os.Remove(r.path("/proc/sys/kernel/random/boot_id"))).To(Succeed())
		facts, err := r.plugin.Facts(ctx)
		Expect(err).To(MatchError(ContainSubstring("boot id")))
		Expect(facts.Mode).To(Equal("active"))
	})
})
