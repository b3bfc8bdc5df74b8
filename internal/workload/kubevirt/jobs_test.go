// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("a virtual machine is backed up", func(expected bool, kind, status string) {
	conditions := []any{map[string]any{"type": kind, "status": status}}
	Expect(isBackedUp(map[string]any{"status": map[string]any{"conditions": conditions}})).To(Equal(expected))
},
	Entry("in progress", false, "Progressing", "True"),
	Entry("not done", false, "Done", "False"),
	Entry("done", true, "Done", "True"),
)
