// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osversion_test

import (
	"crypto/sha256"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("Hash", func() {
	DescribeTable("tells OS versions apart by what they mean",
		func(a, b string, same bool) {
			Expect(osversion.Same(specs.OS(a), specs.OS(b))).To(Equal(same))
		},
		Entry("the same text", `{"imageUri":"oci:x"}`, `{"imageUri":"oci:x"}`, true),
		Entry("another image", `{"imageUri":"oci:x"}`, `{"imageUri":"oci:y"}`, false),
		Entry("another order of keys", `{"imageUri":"oci:x","upgradeRecovery":true}`, `{"upgradeRecovery":true, "imageUri":"oci:x"}`, true),
		Entry("recovery wanted too", `{"imageUri":"oci:x"}`, `{"imageUri":"oci:x","upgradeRecovery":true}`, false),
		Entry("the operator's name of the image", `{"imageUri":"oci:x"}`, `{"imageURI":"oci:x"}`, true),
		Entry("debug toggled", `{"imageUri":"oci:x","debug":true}`, `{"imageUri":"oci:x"}`, true),
	)

	It("covers keys of other plugins", func() {
		other := specs.OS(`{"imageUri":"oci:x"}`)
		other.Plugins = map[string]runtime.RawExtension{"firmware": {Raw: []byte(`"2"`)}}
		Expect(osversion.Same(other, specs.OS(`{"imageUri":"oci:x"}`))).To(BeFalse())
	})

	DescribeTable("is a whole SHA-256 of what annotations have stored the hash of",
		func(osVersion, hashed string) {
			Expect(osversion.Hash(specs.OS(osVersion))).To(Equal(fmt.Sprintf("%x", sha256.Sum256([]byte(hashed)))))
		},
		Entry(nil, `{"imageURI":"oci:x"}`, `"osVersion":{"imageUri":"oci:x"}`+"\n"),
		Entry(nil, `{"imageURI":"oci:x","upgradeRecovery":false,"debug":true}`, `"osVersion":{"imageUri":"oci:x","upgradeRecovery":false}`+"\n"),
		Entry(nil, `{"managedOSVersionName":"v2","imageUri":"oci:x","upgradeRecovery":true}`, `"osVersion":{"managedOSVersionName":"v2","upgradeRecovery":true}`+"\n"),
		Entry(nil, `{"managedOSVersionName":"v2","imageUri":"oci:x","resolvedFrom":"v2"}`, `"osVersion":{"imageUri":"oci:x"}`+"\n"),
		Entry(nil, `{}`, `"osVersion":{}`+"\n"),
		Entry("as it is where it cannot be read", `{"imageUri":7,"a":1}`, `"osVersion":{"a":1,"imageUri":7}`+"\n"),
	)

	It("is stored with the version of its form, and another form is not compared", func() {
		hash := osversion.Hash(specs.OS(`{"imageUri":"oci:x"}`))
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
		Expect(osversion.Hash(infrav1.OSVersionManagement{})).To(BeEmpty())
	})
})

var _ = Describe("Decode", func() {
	DescribeTable("says which field is wrong, what it is and what it has to be",
		func(osVersion, message string) {
			_, err := osversion.Decode(specs.OS(osVersion))
			Expect(err).To(MatchError(HavePrefix(message)))
		},
		Entry("a number as image", `{"imageUri":7}`, "osVersionManagement.osVersion.imageUri is of JSON type number, and has to be a string"),
		Entry("a text as switch", `{"debug":"yes"}`, "osVersionManagement.osVersion.debug is of JSON type string, and has to be a bool"),
		Entry("a list", `[]`, "osVersionManagement.osVersion is of JSON type array, and has to be an object"),
	)

	It("knows a key by its exact spelling only", func() {
		Expect(osversion.Decode(specs.OS(`{"imageUri":"oci:x","imageuri":"oci:y","Debug":5}`))).To(Equal(infrav1.OSVersion{ImageURI: "oci:x"}))
	})

	It("reads nothing from nothing", func() {
		Expect(osversion.Decode(infrav1.OSVersionManagement{})).To(BeZero())
	})
})

var _ = DescribeTable("SameImage",
	func(a, b string, same bool) { Expect(osversion.SameImage(a, b)).To(Equal(same)) },
	Entry("scheme with slashes", "oci://r/i:1", "r/i:1", true),
	Entry("scheme without slashes", "oci:r/i:1", "oci://r/i:1", true),
	Entry("another tag", "oci:r/i:1", "oci:r/i:2", false),
)
