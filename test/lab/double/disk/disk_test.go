// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
)

var _ = Describe("A disk", func() {
	DescribeTable("maps a path to the one on the host", func(path, want string) {
		Expect(disk.Disk("/tmp/host").HostPath(path)).To(Equal(want))
	},
		Entry("beneath the root", "/tmp/host/oem/grubenv", "/oem/grubenv"),
		Entry("the host's own", "/oem/grubenv", "/oem/grubenv"),
		Entry("beside the root", "/tmp/host2/x", "/tmp/host2/x"),
		Entry("the EFI partition beneath the root", "/tmp/host/efi", "/run/elemental/efi"),
		Entry("the EFI partition", "/efi/grub_oem_env", "/run/elemental/efi/grub_oem_env"),
		Entry("not the EFI partition", "/efivars", "/efivars"),
	)

	It("has the active snapshot that the link names, whether it exists or not", func() {
		d := disk.Disk(GinkgoT().TempDir())
		Expect(d.WriteFile(disk.StateDir+"/.snapshots/x/y", nil)).To(Succeed())
		Expect(d.WriteFile(disk.StateDir+"/.snapshots/10/y", nil)).To(Succeed())
		Expect(d.WriteFile(disk.StateDir+"/.snapshots/9/y", nil)).To(Succeed())
		Expect(d.Snapshots()).To(Equal([]int{9, 10}))
		Expect(d.Active()).To(BeZero())
		Expect(d.SetActive(7)).To(Succeed())
		Expect(d.SetActive(8)).To(Succeed())
		Expect(d.Active()).To(Equal(8))
	})
})
