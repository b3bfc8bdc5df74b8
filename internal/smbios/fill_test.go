// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package smbios_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/smbios"
)

var values = map[string]string{
	"System Information/UUID":          "4C4C4544-0043",
	"System Information/Manufacturer":  "ACME, Inc. (Berlin)",
	"System Information/Product Name":  "  ",
	"System Information/Serial Number": strings.Repeat("s", 100),
	"Base Board Information/Asset Tag": "...",
	"Chassis Information/Asset Tag":    "${System Information/UUID}",
}

var _ = DescribeTable("A label's template",
	func(template, expected string) {
		filled := smbios.FillLabels(map[string]string{"x": template}, values)
		if expected == "" {
			Expect(filled).To(BeEmpty())
			return
		}
		Expect(filled).To(Equal(map[string]string{"x": expected}))
		Expect(validation.IsValidLabelValue(filled["x"])).To(BeEmpty())
	},
	Entry("is a value", "${System Information/UUID}", "4C4C4544-0043"),
	Entry("can have text around it", "id-${System Information/UUID}.x", "id-4C4C4544-0043.x"),
	Entry("can have several", "${System Information/UUID}_${System Information/UUID}", "4C4C4544-0043_4C4C4544-0043"),
	Entry("is made fit", "${System Information/Manufacturer}", "ACME-Inc.-Berlin"),
	Entry("is cut", "${System Information/Serial Number}", strings.Repeat("s", 63)),
	Entry("is left out without a value", "a-${System Information/Family}", ""),
	Entry("is left out with a blank value", "a-${System Information/Product Name}", ""),
	Entry("is left out when nothing is left of the value", "${Base Board Information/Asset Tag}", ""),
	Entry("is not filled twice", "${Chassis Information/Asset Tag}", "System-Information-UUID"),
	Entry("may be none", "rack.1", "rack.1"),
)

var _ = Describe("Templates", func() {
	It("leave a label that is none as it is, even when it is not valid: its registration is told", func() {
		Expect(smbios.FillLabels(map[string]string{"x": "a b"}, nil)).To(Equal(map[string]string{"x": "a b"}))
	})

	It("fill annotations as they are", func() {
		Expect(smbios.FillAnnotations(map[string]string{"x": "by ${System Information/Manufacturer}", "y": "${System Information/Family}"}, values)).
			To(Equal(map[string]string{"x": "by ACME, Inc. (Berlin)"}))
	})

	It("are checked by name", func() {
		Expect(smbios.Check("spec.hostLabels", map[string]string{"a": "${System Information/UUID}", "b": "c"})).To(Succeed())
		Expect(smbios.Check("spec.hostLabels", map[string]string{"a": "x-${System Information/Uuid}"})).To(MatchError(
			HavePrefix("spec.hostLabels[a]: ${System Information/Uuid} is not known; use one of BIOS Information/Vendor, ")))
	})
})
