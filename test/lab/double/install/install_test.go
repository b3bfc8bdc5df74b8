// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install_test

import (
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/install"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

var _ = Describe("An upgrade that fails after the switch", func() {
	It("deletes the new snapshot and leaves the active link dangling", func() {
		d := disk.Disk(GinkgoT().TempDir())
		tree := source.Source{Kind: source.Dir, Value: GinkgoT().TempDir()}
		Expect(os.WriteFile(tree.Value+"/file", []byte("x"), 0o600)).To(Succeed())
		Expect((&install.Action{Host: &install.Simulated{Disk: d}, System: tree}).Install(GinkgoT().Context())).To(Succeed())
		Expect(d.SetBooted(disk.Boot{ID: "b", Mode: "active", Snapshot: 1})).To(Succeed())
		Expect(d.SetMounts(disk.BootMounts())).To(Succeed())

		// The recovery partition cannot be written: the last step of the upgrade fails.
		Expect(os.RemoveAll(d.Recovery())).To(Succeed())
		Expect(os.WriteFile(d.Recovery(), nil, 0o600)).To(Succeed())
		Expect((&install.Action{Host: &install.Simulated{Disk: d}, System: tree, Recovery: true}).Upgrade(GinkgoT().Context())).NotTo(Succeed())

		Expect(d.Snapshots()).To(Equal([]int{1}))
		Expect(d.Active()).To(Equal(2))
		Expect(d.Mounts()).To(Equal(disk.BootMounts()))
	})
})
