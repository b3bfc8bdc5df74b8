// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot_test

import (
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
)

var _ = Describe("A boot", func() {
	var d disk.Disk

	BeforeEach(func() {
		d = disk.Disk(GinkgoT().TempDir())
		Expect(d.WriteFile(disk.OEMDir+"/x", nil)).To(Succeed())
		Expect(d.WriteFile(disk.StateDir+"/state.yaml", []byte("kept"))).To(Succeed())
	})

	It("fails where there is nothing to boot", func() {
		_, err := boot.Next(d)
		Expect(err).To(MatchError(boot.ErrNothingToBoot))
	})

	It("empties /run except for the state partition", func() {
		Expect(d.WriteFile("/run/cluster-api/bootstrap-success.complete", nil)).To(Succeed())
		s := boot.System{Choice: grub.Choice{Entry: grub.Entry{Mode: grub.Passive}}, Snapshot: 3}
		Expect(s.Up(d, "an-id")).To(Succeed())
		Expect(d.Path(disk.BootstrapOK)).NotTo(BeAnExistingFile())
		Expect(os.ReadFile(d.State(disk.StateFile))).To(BeEquivalentTo("kept"))
		Expect(d.Booted()).To(Equal(disk.Boot{ID: "an-id", Mode: "passive", Snapshot: 3}))
		Expect(d.Path("/run/elemental/passive_mode")).To(BeAnExistingFile())
		Expect(boot.Down(d)).To(Succeed())
		Expect(d.Booted()).To(BeZero())
	})

	DescribeTable("that passes its assessment", func(mode, left string) {
		s := boot.System{Choice: grub.Choice{Entry: grub.Entry{Mode: mode}}, Snapshot: 3}
		Expect(s.Up(d, "an-id")).To(Succeed())
		env := &grub.Env{}
		env.Set(grub.BootAssessmentCheck, grub.Yes)
		env.Set(grub.LastBootAttempt, mode)
		Expect(env.Write(d.GrubEnv())).To(Succeed())
		Expect(boot.Passed(d)).To(Succeed())
		env, err := grub.Read(d.GrubEnv())
		Expect(err).NotTo(HaveOccurred())
		Expect(env.Get(grub.BootAssessmentCheck)).To(Equal(left))
		Expect(env.Get(grub.LastBootAttempt)).To(BeEmpty())
	},
		Entry("in active mode clears the check", grub.Active, ""),
		Entry("in passive mode keeps the check due", grub.Passive, grub.Yes),
	)
})
