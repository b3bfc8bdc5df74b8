// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

var _ = Describe("The progress of a comparison", func() {
	line := fmt.Sprintf(tree.Progress, 16, 400)

	It("is told to whoever wants to know it", func() {
		told := []int64{}
		tell := func(done, total int64) { told = append(told, done, total) }
		readProgress(line, tell)
		readProgress("Warning: something else", tell)
		Expect(told).To(Equal([]int64{16, 400}))
	})
	It("need not be told", func() {
		Expect(func() { readProgress(line, nil) }).NotTo(Panic())
	})
})
