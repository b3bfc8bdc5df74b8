// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package units_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/units"
)

var _ = It("Units keep their state", func() {
	root := GinkgoT().TempDir()
	Expect(units.Read(root)).To(BeEmpty())
	Expect(units.Set(root, units.Kubelet, units.Activating)).To(Succeed())
	Expect(units.Set(root, units.Kubelet, units.Active)).To(Succeed())
	Expect(units.Set(root, units.Agent, units.Failed)).To(Succeed())
	all, err := units.Read(root)
	Expect(err).NotTo(HaveOccurred())
	Expect(all.Names()).To(Equal([]string{units.Agent, units.Kubelet}))
	Expect(all).To(HaveKeyWithValue(units.Kubelet, units.Active))
})
