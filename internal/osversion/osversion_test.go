// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osversion_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

func management(osVersion string) infrav1.OSVersionManagement {
	return infrav1.OSVersionManagement{infrav1.OSVersionKey: runtime.RawExtension{Raw: []byte(osVersion)}}
}

var _ = Describe("Hash", func() {
	DescribeTable("tells OS versions apart by what they mean",
		func(a, b string, same bool) {
			Expect(osversion.Same(management(a), management(b))).To(Equal(same))
		},
		Entry("the same text", `{"imageUri":"oci:x"}`, `{"imageUri":"oci:x"}`, true),
		Entry("another image", `{"imageUri":"oci:x"}`, `{"imageUri":"oci:y"}`, false),
		Entry("another order of keys", `{"imageUri":"oci:x","upgradeRecovery":true}`, `{"upgradeRecovery":true, "imageUri":"oci:x"}`, true),
		Entry("recovery wanted too", `{"imageUri":"oci:x"}`, `{"imageUri":"oci:x","upgradeRecovery":true}`, false),
		Entry("debug toggled", `{"imageUri":"oci:x","debug":true}`, `{"imageUri":"oci:x"}`, true),
	)

	It("covers keys of other plugins", func() {
		other := management(`{"imageUri":"oci:x"}`)
		other["firmware"] = runtime.RawExtension{Raw: []byte(`"2"`)}
		Expect(osversion.Same(other, management(`{"imageUri":"oci:x"}`))).To(BeFalse())
	})

	It("is a whole SHA-256", func() {
		Expect(osversion.Hash(management(`{"imageUri":"oci:x"}`))).To(MatchRegexp("^[0-9a-f]{64}$"))
	})

	It("is stored with the version of its form, and another form is not compared", func() {
		hash := osversion.Hash(management(`{"imageUri":"oci:x"}`))
		stored, isKnown := osversion.FromStored(osversion.Stored(hash))
		Expect(stored).To(Equal(hash))
		Expect(isKnown).To(BeTrue())
		for _, other := range []string{"", hash, "0:" + hash} {
			_, isKnown = osversion.FromStored(other)
			Expect(isKnown).To(BeFalse(), other)
		}
		Expect(osversion.Stored("")).To(BeEmpty())
	})

	It("is empty when no OS is asked for", func() {
		Expect(osversion.Hash(nil)).To(BeEmpty())
	})
})

var _ = Describe("Decode", func() {
	DescribeTable("says which field is wrong, what it is and what it has to be",
		func(osVersion, message string) {
			_, err := osversion.Decode(management(osVersion))
			Expect(err).To(MatchError(HavePrefix(message)))
		},
		Entry("a number as image", `{"imageUri":7}`, "osVersionManagement.osVersion.imageUri is of JSON type number, and has to be a string"),
		Entry("a text as switch", `{"debug":"yes"}`, "osVersionManagement.osVersion.debug is of JSON type string, and has to be a bool"),
		Entry("a list", `[]`, "osVersionManagement.osVersion is of JSON type array, and has to be an object"),
		Entry("no JSON", `{`, "decoding osVersionManagement.osVersion: "),
	)

	It("knows a key by its exact spelling only", func() {
		misspelt := management(`{"imageUri":"oci:x","imageURI":"oci:y","Debug":5}`)
		version, err := osversion.Decode(misspelt)
		Expect(err).NotTo(HaveOccurred())
		Expect(version).To(Equal(infrav1.OSVersion{ImageURI: "oci:x"}))
		image, asked := osversion.Image(misspelt)
		Expect(image).To(Equal("oci:x"))
		Expect(asked).To(BeTrue())
		Expect(osversion.Unknown(misspelt)).To(Equal([]string{"Debug", "imageURI"}))
	})

	It("reads nothing from nothing", func() {
		Expect(osversion.Decode(nil)).To(BeZero())
	})
})

var _ = DescribeTable("SameImage",
	func(a, b string, same bool) { Expect(osversion.SameImage(a, b)).To(Equal(same)) },
	Entry("scheme with slashes", "oci://r/i:1", "r/i:1", true),
	Entry("scheme without slashes", "oci:r/i:1", "oci://r/i:1", true),
	Entry("another tag", "oci:r/i:1", "oci:r/i:2", false),
)
