// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package grub_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
)

func envOf(text string) *grub.Env {
	e := &grub.Env{}
	for pair := range strings.SplitSeq(text, ";") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			e.Set(name, value)
		}
	}
	return e
}

var _ = Describe("What GRUB boots", func() {
	const oem = "default_fallback=0 1 2 3;passive_snaps=5 4"

	DescribeTable("by its variables", func(oem, saved, missing, entry string, check bool, left string) {
		env := envOf(saved)
		choice, ok := grub.Boot(envOf(oem), env, func(e grub.Entry) bool {
			return !strings.Contains(" "+missing+" ", " "+e.ID+" ")
		})
		Expect(ok).To(Equal(entry != ""))
		Expect(choice.ID).To(Equal(entry))
		Expect(choice.HealthCheck).To(Equal(check))
		Expect(strings.Join(env.List(), ";")).To(Equal(left))
	},
		Entry("nothing set", oem, "", "", "active", false, ""),
		Entry("saved entry", oem, "saved_entry=passive4", "", "passive4", false, "saved_entry=passive4"),
		Entry("saved entry that does not exist", oem, "saved_entry=passive9", "", "active", false, "saved_entry=passive9"),
		Entry("next entry wins over saved", oem, "saved_entry=passive4;next_entry=passive5", "", "passive5", false,
			"saved_entry=passive4;next_entry="),
		Entry("check due: first the active one", oem, "boot_assessment_check=yes;saved_entry=passive4", "", "active", true,
			"boot_assessment_check=yes;saved_entry=passive4;last_boot_attempt=active"),
		Entry("active failed", oem, "boot_assessment_check=yes;last_boot_attempt=active", "", "passive5", true,
			"boot_assessment_check=yes;last_boot_attempt=passive5"),
		Entry("first passive failed", oem, "boot_assessment_check=yes;last_boot_attempt=passive5", "", "passive4", true,
			"boot_assessment_check=yes;last_boot_attempt=passive4"),
		Entry("last passive failed: again", oem, "boot_assessment_check=yes;last_boot_attempt=passive4", "", "passive4", true,
			"boot_assessment_check=yes;last_boot_attempt=passive4"),
		Entry("no passive one: active forever", "passive_snaps=", "boot_assessment_check=yes;last_boot_attempt=active", "",
			"active", true, "boot_assessment_check=yes;last_boot_attempt="),
		Entry("always check", oem, "boot_assessment_always_check=yes;saved_entry=passive4", "", "active", true,
			"boot_assessment_always_check=yes;saved_entry=passive4;last_boot_attempt=active"),
		Entry("next entry is assessed but not recorded", oem, "boot_assessment_check=yes;next_entry=passive4", "", "passive4", true,
			"boot_assessment_check=yes;next_entry="),
		Entry("recovery is never assessed", oem, "boot_assessment_check=yes;next_entry=recovery", "", "recovery", false,
			"boot_assessment_check=yes;next_entry="),
		Entry("image of the chosen entry missing: the fallback list, active first", oem,
			"boot_assessment_check=yes;last_boot_attempt=active", "passive5", "active", true,
			"boot_assessment_check=yes;last_boot_attempt=passive5"),
		Entry("active missing", oem, "", "active", "passive5", false, ""),
		Entry("all missing but recovery", oem, "", "active passive5 passive4", "recovery", false, ""),
		Entry("all missing", oem, "", "active passive5 passive4 recovery", "", false, ""),
		Entry("grub_oem_env wins", oem, "passive_snaps=9;saved_entry=passive9", "", "active", false,
			"passive_snaps=9;saved_entry=passive9"),
	)

	It("rejects variables that do not fit into an environment block", func() {
		env := envOf("a=1;empty=")
		env.Set("odd", `back\slash`+"\nand line")
		block, err := env.Block()
		Expect(err).NotTo(HaveOccurred())
		again, err := grub.Parse(block)
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(env))
		env.Set("big", strings.Repeat("x", grub.BlockSize))
		_, err = env.Block()
		Expect(err).To(MatchError(grub.ErrFull))
		_, err = grub.Parse([]byte("something else"))
		Expect(err).To(HaveOccurred())
	})
})
