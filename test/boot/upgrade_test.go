// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("A host that boots through GRUB", func() {
	It("registers, and is upgraded by one reboot into the other snapshot", func(ctx SpecContext) {
		h := newHost(ctx)
		Expect(h.boots.Load()).To(BeEquivalentTo(1))
		good := push(ctx, "v2", nil)
		h.upgrade(ctx, good)
		status := h.awaitEnd(ctx, good)
		Expect(status.Upgrade.Phase).To(Equal(infrav1.HostUpgradeSucceeded), status.Upgrade.Message)
		Expect(status).To(runs("v2", "active"))
		Expect(h.boots.Load()).To(BeEquivalentTo(2))
	})
})
