// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// What the guest says at the moments at which power is cut.
const (
	writes  = "GUEST: the CLI begins"
	written = "GUEST: the CLI has ended"
	reboots = "GUEST: goes down"
	second  = "GUEST: GRUB has chosen active, /.snapshots/2/"
)

var _ = Describe("A host that loses power, and writes that it has not flushed", func() {
	DescribeTable("ends the attempt, and is upgraded to a good image then",
		func(ctx SpecContext, moment string, more int64, phase infrav1.HostUpgradePhase, version string) {
			h := newHost(ctx)
			image := h.push(ctx, "v2", nil)
			h.upgrade(ctx, image)
			h.await(moment)
			if more > 0 {
				Eventually(h.disk.bytesWritten).Should(BeNumerically(">=", h.disk.bytesWritten()+more))
			}
			h.cutPower(uint64(GinkgoRandomSeed()))
			status := h.awaitEnd(ctx, image)
			Expect(status.Upgrade.Phase).To(Equal(phase), status.Upgrade.Message)
			Expect(status.OS.Version).To(Equal(version))
			h.upgradesTo(ctx, "v3")
		},
		Entry("while the image is written", writes, int64(10*mib), infrav1.HostUpgradeSucceeded, "v2"),
		Entry("between the end of the CLI and the reboot", written, int64(0), infrav1.HostUpgradeSucceeded, "v2"),
		Entry("when the agent has ordered the reboot, before the OS flushes anything", reboots, int64(0), infrav1.HostUpgradeSucceeded, "v2"),
		Entry("in the first boot of the new image", second, int64(sector), infrav1.HostUpgradeRolledBack, "v1"),
	)

	for n := range cuts() {
		It(fmt.Sprintf("is upgraded to a good image after the attempt ends (random cut %d)", n+1), func(ctx SpecContext) {
			seed := uint64(GinkgoRandomSeed()) + uint64(n)
			random := rand.New(rand.NewPCG(seed, 0))
			h := newHost(ctx)
			image := h.push(ctx, "v2", nil)
			h.upgrade(ctx, image)
			moment := []string{writes, written, reboots, second}[random.IntN(4)]
			h.await(moment)
			delay := time.Duration(random.Int64N(int64(longestDelay)))
			GinkgoWriter.Printf("the power is cut %s after %q\n", delay, moment)
			Eventually(time.After(delay)).Should(Receive())
			h.cutPower(seed)
			status := h.awaitEnd(ctx, image)
			wanted := map[infrav1.HostUpgradePhase]string{infrav1.HostUpgradeSucceeded: "v2", infrav1.HostUpgradeRolledBack: "v1"}
			Expect(wanted).To(HaveKeyWithValue(status.Upgrade.Phase, status.OS.Version), status.Upgrade.Message)
			h.upgradesTo(ctx, "v3")
		})
	}
})

// longestDelay of a random cut after its moment.
const longestDelay = 20 * time.Second

// cuts is how many random cuts there are; by default none.
func cuts() int {
	count, _ := strconv.Atoi(os.Getenv("CUTS"))
	return count
}
