// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
)

var _ = Describe("Facts", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		r.state(`1: {source: "oci://r/os:1", digest: "sha256:1"}`, `2: {source: "oci://r/os:2", digest: "sha256:2", active: true}`)
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

	It("have no snapshot in recovery", func() {
		r.boot(2, "recovery")
		Expect(r.plugin.Facts(ctx)).To(And(HaveField("Snapshot", BeZero()), HaveField("Digest", BeEmpty()), HaveField("Mode", "recovery")))
	})

	DescribeTable("know the snapshot from where the host has it",
		func(losetup, file, content string, id int) {
			r.runner.Say("losetup", losetup)
			r.write(file, content)
			Expect(r.plugin.Facts(ctx)).To(HaveField("Snapshot", BeEquivalentTo(id)))
		},
		Entry("two images are attached: the command line", snapshots+"/1/snapshot.img\n"+snapshots+"/2/snapshot.img\n",
			"/proc/cmdline", "root=LABEL=COS_STATE elemental.image=/.snapshots/1/snapshot.img elemental.mode=passive", 1),
		Entry("btrfs: the root's subvolume", "", "/proc/mounts", "/dev/sda3 / btrfs ro,subvol=/@/.snapshots/2/snapshot 0 0\n", 2),
	)

	It("are an error when the snapshot cannot be told", func() {
		r.runner.Say("losetup", "")
		_, err := r.plugin.Facts(ctx)
		Expect(err).To(MatchError(ContainSubstring("finding the booted snapshot")))
	})
})
