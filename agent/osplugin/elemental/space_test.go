// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

var _ = Describe("Space", func() {
	const (
		free  = 4 << 30
		block = 4096 // of the file systems that tests run on, at most
	)
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		for id := range 3 {
			r.snapshot(id+1, strings.Repeat("x", 64*block))
		}
		r.link(3)
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
		r.boot(3, "active")
		r.runner.Say("df", "    Avail\n      100\n")
		r.runner.On("df -B1 --output=avail "+r.path(stateDir), func(system.Command) system.Result {
			return system.Result{Stdout: fmt.Sprintf("    Avail\n %d\n", free+(3-len(r.ids()))*64*block)}
		})
	})

	keep := func(snapshots int) {
		GinkgoHelper()
		state := r.read(stateDir + "/state.yaml")
		r.write(stateDir+"/state.yaml", strings.Replace(state, "type: loopdevice", fmt.Sprintf("type: loopdevice\n  max-snaps: %d", snapshots), 1))
	}

	It("is that of the state partition, with what the upgrade will cost, and of the work directory", func() {
		space, err := r.plugin.Space(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(space.Work).To(BeEquivalentTo(100))
		Expect(space.State).To(And(BeNumerically(">=", free+2*64*block), BeNumerically("<", free+3*64*block)))
		keep(4)
		Expect(r.plugin.Space(ctx)).To(Equal(osplugin.Space{State: free, Work: 100}))
	})

	DescribeTable("is made, oldest first, of snapshots that the upgrade would cost",
		func(kept int, needed int64, left ...string) {
			keep(kept)
			Expect(r.plugin.MakeRoom(ctx, needed)).To(Succeed())
			Expect(r.ids()).To(Equal(left))
			Expect(r.linked()).To(Equal("3/snapshot.img"))
		},
		Entry("none where there is enough", 2, int64(free), "1", "2", "3"),
		Entry("as many as it takes", 2, int64(free+1), "2", "3"),
		Entry("all of them at most", 2, int64(free*2), "3"),
		Entry("one where another is kept", 3, int64(free*2), "2", "3"),
		Entry("none where all are kept", 4, int64(free*2), "1", "2", "3"),
	)

	It("costs neither the snapshot that runs nor one that somebody has upgraded to since", func() {
		r.boot(2, "active")
		Expect(r.plugin.MakeRoom(ctx, free*2)).To(Succeed())
		Expect(r.ids()).To(Equal([]string{"2", "3"}))
		Expect(r.linked()).To(Equal("3/snapshot.img"))
	})
})
