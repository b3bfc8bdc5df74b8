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

var _ = Describe("A host that cannot tell what it runs", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		r.snapshot(1, "old")
		r.snapshot(2, "x")
		r.link(2)
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2", active: true}`)
		r.runner.Say("df", "Avail\n100\n")
		Expect(os.Remove(r.path("/proc/self/mountinfo"))).To(Succeed())
	})

	It("is not upgraded: the next boot would not choose what runs", func() {
		_, err := r.plugin.Upgrade(ctx, osplugin.Upgrade{Attempt: "a1", Image: "127.0.0.1:1/os"})
		Expect(err).To(MatchError(ContainSubstring("selecting the running snapshot for the next boot")))
		Expect(r.runner.Calls()).NotTo(ContainElement(HavePrefix("elemental ")))
	})

	It("loses no snapshot for the space of another", func() {
		Expect(r.plugin.MakeRoom(ctx, 1<<40)).NotTo(Succeed())
		_, err := r.plugin.Space(ctx)
		Expect(err).To(HaveOccurred())
		Expect(r.ids()).To(Equal([]string{"1", "2"}))
	})
})

var _ = It("A host that cannot tell how much is free loses no snapshot", func(ctx SpecContext) {
	r := newRig()
	r.snapshot(1, "old")
	r.snapshot(2, "x")
	r.link(2)
	r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2", active: true}`)
	r.runner.Fail("df", 1, "df: no such file")
	Expect(r.plugin.MakeRoom(ctx, 1<<40)).To(MatchError(ContainSubstring("no such file")))
	Expect(r.ids()).To(Equal([]string{"1", "2"}))
})

var _ = It("A host whose snapshots cannot be told counts none of them as space", func(ctx SpecContext) {
	r := newRig()
	r.snapshot(1, "old")
	r.link(1)
	r.state(`1: {digest: "sha256:1", active: true}`)
	r.boot(1, "active")
	r.runner.Say("df", "Avail\n100\n")
	_, err := r.plugin.Space(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.Remove(r.path(stateDir + "/state.yaml"))).To(Succeed())
	Expect(os.Mkdir(r.path(stateDir+"/state.yaml"), 0o700)).To(Succeed()) // reading it fails
	_, err = r.plugin.Space(ctx)
	Expect(err).To(HaveOccurred())
})

var _ = Describe("Files that an installation was given", func() {
	It("are hidden from others, but for those that hide somewhere else", func() {
		r := newRig()
		r.write("/oem/90_custom.yaml", "key")
		Expect(os.Chmod(r.path("/oem/90_custom.yaml"), 0o666)).To(Succeed())
		r.write("/elsewhere", "x")
		Expect(os.Chmod(r.path("/elsewhere"), 0o644)).To(Succeed())
		Expect(os.Symlink(r.path("/elsewhere"), r.path("/oem/91_custom.yaml"))).To(Succeed())
		r.write("/oem/92_custom.yaml", "x")
		Expect(os.Chmod(r.path("/oem/92_custom.yaml"), 0o400)).To(Succeed())
		Expect(r.plugin.Init(context.Background())).To(Succeed())
		for path, mode := range map[string]os.FileMode{"/oem/90_custom.yaml": 0o600, "/elsewhere": 0o644, "/oem/92_custom.yaml": 0o400} {
			info, err := os.Stat(r.path(path))
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Mode()).To(Equal(mode), path)
		}
	})
})
