// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

var _ = DescribeTable("A source", func(uri, recorded string) {
	src, err := source.Parse(uri)
	if recorded == "" {
		Expect(err).To(HaveOccurred())
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(src.String()).To(Equal(recorded))
},
	Entry("oci:", "oci:127.0.0.1:5000/os:v1", "oci://127.0.0.1:5000/os:v1"),
	Entry("oci://", "oci://127.0.0.1:5000/os:v1", "oci://127.0.0.1:5000/os:v1"),
	Entry("docker:", "docker:example.com/os:v1", "oci://example.com/os:v1"),
	Entry("bare", "example.com/os", "oci://example.com/os:latest"),
	Entry("bare with a port", "localhost:5000/os", "oci://localhost:5000/os:latest"),
	Entry("bare with an address and port", "127.0.0.1:5000/os:v1", ""),
	Entry("digest", "oci:example.com/os@sha256:0123456789012345678901234567890123456789012345678901234567890123",
		"oci://example.com/os@sha256:0123456789012345678901234567890123456789012345678901234567890123"),
	Entry("dir", "dir:/", "dir:///"),
	Entry("file", "file:///a.img", "file:///a.img"),
	Entry("no reference", "oci:UPPER CASE", ""),
)
