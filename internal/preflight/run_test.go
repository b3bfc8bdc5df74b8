// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

var _ = Describe("Run", func() {
	It("finds nothing amiss with a healthy cluster", func() {
		s, subject := typical()
		Expect(Run(s, subject, nil, nil)).To(BeEmpty())
	})

	It("names every check by one name", func() {
		names := map[string]bool{}
		for _, check := range Checks(kubevirt.Resident{}, longhorn.Resident{}) {
			Expect(names).NotTo(HaveKey(check.Name))
			names[check.Name] = true
		}
	})

	It("lets a waived check warn, tells of it, and leaves the others", func() {
		s, subject := typical(notReady, cordoned)
		waived := []string{}
		results := Run(s, subject, Waivers{"NodeReady"}, func(r infrav1.PreflightResult) { waived = append(waived, r.Check) })
		Expect(waived).To(HaveExactElements("NodeReady"))
		Expect(Blockers(results)).To(HaveExactElements(HavePrefix("Node/n: was cordoned by someone else")))
		Expect(results[0].Verdict).To(Equal(warns))
	})

	It("lets what only other clusters have in quarantine be waived, and names all of those", func() {
		s, subject := typical(digest, quarantinedElsewhere("sha256:new"), quarantinedElsewhere("sha256:new"))
		subject.Quarantining[0].Name = "nearer"
		Expect(Blockers(Run(s, subject, nil, nil))).To(HaveExactElements(
			HavePrefix("Image/sha256:new: is quarantined by ElementalCluster far "), HavePrefix("Image/sha256:new: is quarantined by ElementalCluster nearer ")))
		Expect(Run(s, subject, Waivers{"Quarantine"}, func(infrav1.PreflightResult) {})).To(HaveEach(HaveField("Verdict", warns)))
	})

	It("tells of no waiver where a check warns all the same", func() {
		s, subject := typical(oldKubelet)
		Expect(Run(s, subject, Waivers{"KubeletVersion"}, func(infrav1.PreflightResult) { Fail("is waived") })).To(HaveLen(1))
	})

	DescribeTable("lets nobody waive what stops the attempt later all the same, and says what to do instead",
		func(name, message string, change ...func(*Snapshot, *Subject)) {
			s, subject := typical(change...)
			results := Run(s, subject, Waivers{infrav1.PreflightCheck(name)}, func(infrav1.PreflightResult) { Fail("is waived") })
			Expect(Blockers(results)).To(HaveExactElements(And(ContainSubstring(message), HaveSuffix("; this check cannot be waived"))))
			Expect(Blockers(Run(s, subject, nil, nil))).To(HaveExactElements(Not(ContainSubstring("waived"))))
		},
		Entry("a bad image", "Quarantine", "patch the template to a good image, or remove the digest from spec.quarantine", digest, quarantined("sha256:new")),
		Entry("a bad image that other clusters know too", "Quarantine", "remove the digest from spec.quarantine", digest, quarantined("sha256:new"),
			quarantinedElsewhere("sha256:new")),
	)
})

var _ = DescribeTable("ByCheck", func(expected []infrav1.PreflightResult, found ...infrav1.PreflightResult) {
	Expect(ByCheck(found)).To(HaveExactElements(expected))
},
	Entry("nothing", nil),
	Entry("one of each", []infrav1.PreflightResult{result("A", blocks, "x"), result("B", warns, "y")},
		result("A", blocks, "x"), result("B", warns, "y")),
	Entry("what blocks hides what warns", []infrav1.PreflightResult{result("A", blocks, "y")},
		result("A", warns, "x"), result("A", blocks, "y")),
	Entry("several", []infrav1.PreflightResult{{Check: "A", Verdict: blocks, Object: "x, y", Message: "y: wrong; x: wrong"}},
		result("A", blocks, "y"), result("A", blocks, "x")),
)

func result(check string, verdict infrav1.PreflightVerdict, object string) infrav1.PreflightResult {
	return infrav1.PreflightResult{Check: check, Verdict: verdict, Object: object, Message: "wrong"}
}
