// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

var _ = DescribeTable("A pin is for the image that was resolved to it",
	func(value, image, digest string) {
		Expect(rollout.PinnedDigest(value, image)).To(Equal(digest))
	},
	Entry("that image", rollout.Pin("oci://r/os:1", "sha256:1"), "oci://r/os:1", "sha256:1"),
	Entry("that image in another spelling", rollout.Pin("oci://r/os:1", "sha256:1"), "r/os:1", "sha256:1"),
	Entry("not another tag", rollout.Pin("oci://r/os:1", "sha256:1"), "oci://r/os:2", ""),
	Entry("not no image", rollout.Pin("", "sha256:1"), "", ""),
	Entry("not any, where it names none", "sha256:1", "oci://r/os:1", ""),
	Entry("not any, where there is none", "", "oci://r/os:1", ""),
)
