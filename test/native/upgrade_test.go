// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
)

var _ = Describe("An upgrade", func() {
	It("writes a snapshot, boots it and finds it good", func() {
		m := newMachine()
		uri, digest := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "active"),
			HaveField("Version", "v2"), HaveField("Digest", digest), HaveField("BootID", "boot-2")))
		Expect(m.environment("/run/elemental/efi/grub_oem_env").Get(grub.PassiveSnapshots)).To(Equal("1"))
	})
})
