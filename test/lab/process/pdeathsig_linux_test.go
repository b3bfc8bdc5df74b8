// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"runtime"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

var _ = Describe("The death of a thread", func() {
	// Without a dedicated thread for starting children, a child would die with whichever thread had started
	// it.
	It("does not kill the children that were started by its goroutine", func(ctx SpecContext) {
		started := make(chan *process.Process)
		go func() {
			defer GinkgoRecover()
			runtime.LockOSThread() // the thread of a goroutine that exits while locked is terminated
			started <- shell(`echo up; exec sleep 60`)
		}()
		p := <-started
		Expect(p.Await(ctx, "the log", logged(p, "up\n"))).To(Succeed())
		Consistently(p.Exited(), "500ms").ShouldNot(BeClosed())
	}, SpecTimeout(patience))
})
