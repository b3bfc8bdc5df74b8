// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imageuri_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

var _ = DescribeTable("An image URI", func(uri, reference, refusal string) {
	parsed, err := imageuri.Parse(uri)
	if refusal != "" {
		Expect(err).To(MatchError(ContainSubstring(refusal)))
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(parsed.Name()).To(Equal(reference))
},
	Entry("may have a scheme", "oci://registry.test/os:v1", "registry.test/os:v1", ""),
	Entry("without slashes", "oci:registry.test:5000/os:v1", "registry.test:5000/os:v1", ""),
	Entry("of docker", "docker://registry.test/os:v1", "registry.test/os:v1", ""),
	Entry("or none", "registry.test/a/os:v1", "registry.test/a/os:v1", ""),
	Entry("may be empty nowhere", "", "", "imageURI is empty: set it to oci://"),
	Entry("nor behind a scheme", "oci://", "", "imageURI is empty"),
	Entry("is no web page", "http://registry.test/os:v1", "", "is not in a registry: use oci://"),
	Entry("nor one that is secure", "https://registry.test/os:v1", "", "is not in a registry"),
	Entry("is no directory", "dir:/os", "", "is not in a registry"),
	Entry("is no file", "oci:file:/os.img", "", "is not in a registry"),
	Entry("is a reference", "oci://registry.test/OS image", "", "is not a valid reference: use oci://"),
)
