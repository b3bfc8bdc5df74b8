// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package power_test

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/power"
)

var _ = Describe("A power request", func() {
	It("reaches the listener, and fails once it is closed", func() {
		root := GinkgoT().TempDir()
		listener, err := power.Listen(root)
		Expect(err).NotTo(HaveOccurred())
		request := power.Request{Action: power.Off, Force: true, By: "test"}
		Expect(power.Ask(root, request)).To(Succeed())
		Eventually(listener.Requests).Should(Receive(Equal(request)))
		Expect(listener.Close()).To(Succeed())
		Eventually(listener.Requests).Should(BeClosed())
		Expect(power.Ask(root, request)).To(MatchError(syscall.ENXIO))
	})
})
