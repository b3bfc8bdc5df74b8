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
)

var _ = Describe("The snapshots of a host", func() {
	ctx := context.Background()
	var r *rig

	BeforeEach(func() {
		r = newRig()
		r.boot(2, "active")
		for id := range 3 {
			r.snapshot(id+1, "x")
		}
		r.grub("/oem/grubenv")
		r.grub(oemEnv, "passive_snaps=3 2 1", "default_fallback=0 1 2 3 4")
	})

	It("have the running one for a default while an image is written, in place of one that the CLI may remove", func() {
		r.state(`1: {digest: "sha256:1", active: true}`, `2: {digest: "sha256:2"}`)
		r.link(1)
		var met string
		r.runner.On("elemental", func(system.Command) system.Result {
			met = r.linked()
			return system.Result{}
		})
		_, err := r.plugin.Upgrade(ctx, osplugin.Upgrade{Attempt: "a1", Image: "127.0.0.1:1/e/os@" + twoDigest})
		Expect(err).NotTo(HaveOccurred())
		Expect(met).To(Equal("2/snapshot.img"))
	})

	DescribeTable("are those that the CLI keeps, and listed, before the boot", func(prepare func(), ids []string, passive, fallback string) {
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
		r.link(3)
		prepare()
		Expect(r.plugin.BootNewest(ctx)).To(Succeed())
		Expect(r.ids()).To(Equal(ids))
		Expect(strings.Split(r.read(oemEnv), "\n")).To(ConsistOf("passive_snaps="+passive, "default_fallback="+fallback))
	},
		Entry("one too many", func() {}, []string{"2", "3"}, "2", "0 1 2"),
		Entry("one that is not recorded", func() {
			r.state(`2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
		}, []string{"1", "2", "3"}, "2", "0 1 2"),
		Entry("what runs, although it is not recorded", func() {
			r.state(`3: {digest: "sha256:3", active: true}`)
		}, []string{"1", "2", "3"}, "2", "0 1 2"),
		Entry("one of an earlier try", func() {
			r.snapshot(4, "x")
			r.state(`2: {digest: "sha256:2"}`, `3: {digest: "sha256:4"}`, `4: {digest: "sha256:4", active: true}`)
			r.link(4)
		}, []string{"1", "2", "4"}, "2", "0 1 2"),
		Entry("as many as are kept", func() {
			r.write(stateDir+"/state.yaml", strings.Replace(r.read(stateDir+"/state.yaml"), "type: loopdevice", "type: loopdevice\n  max-snaps: 3", 1))
		}, []string{"1", "2", "3"}, "2 1", "0 1 2 3"),
	)

	It("are no fallback if they are of the bad image, which an earlier try has written", func() {
		r.snapshot(4, "x")
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2"}`, `3: {digest: "sha256:4"}`, `4: {digest: "sha256:4", active: true}`)
		r.link(4)
		Expect(r.plugin.BootAlways(ctx, 2, 4)).To(Succeed())
		Expect(r.read(oemEnv)).To(ContainSubstring("passive_snaps=1\n"))
	})

	It("are fallbacks if they are of the bad image, and so is the good one: it was written again", func() {
		r.state(`1: {digest: "sha256:2"}`, `2: {digest: "sha256:2"}`, `3: {digest: "sha256:2", active: true}`)
		r.link(3)
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
		Expect(r.read(oemEnv)).To(ContainSubstring("passive_snaps=1\n"))
	})

	It("are removed if they are newer than what runs and the CLI has left no default", func() {
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
		Expect(r.plugin.Clean(ctx)).To(Succeed())
		Expect(r.ids()).To(Equal([]string{"1", "2"}))
		Expect(r.linked()).To(Equal("2/snapshot.img"))
	})
})
