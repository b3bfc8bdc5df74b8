// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imageuri_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

var _ = DescribeTable("A prefix", func(prefix, normal string) {
	parsed, err := imageuri.ParsePrefix(prefix)
	if normal == "" {
		Expect(err).To(MatchError(ContainSubstring("without scheme, tag or digest")))
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(parsed).To(Equal(normal))
},
	Entry("is a registry", "registry.test", "registry.test"),
	Entry("with a port", "registry.test:5000", "registry.test:5000"),
	Entry("or a part of one", "registry.test/a/b", "registry.test/a/b"),
	Entry("however short", "registry.test/a", "registry.test/a"),
	Entry("of Docker Hub, whose images have another name", "docker.io/vendor", "index.docker.io/vendor"),
	Entry("is not empty", "", ""),
	Entry("nor are its parts", "registry.test/a//b", ""),
	Entry("at the end either", "registry.test/", ""),
	Entry("has no scheme", "oci://registry.test/os", ""),
	Entry("no tag", "registry.test/os:v1", ""),
	Entry("no digest", "registry.test/os@sha256:"+strings.Repeat("1", 64), ""),
	Entry("no star", "registry.test/*", ""),
	Entry("nor as the whole of it", "*", ""),
	Entry("and no part of a name", "*.registry.test", ""),
	Entry("no capital letters", "registry.test/OS", ""),
)
