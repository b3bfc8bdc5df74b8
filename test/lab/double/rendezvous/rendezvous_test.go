// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rendezvous_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
)

var _ = Describe("A rendezvous", func() {
	var root string
	BeforeEach(func() {
		var err error
		// The path of a Unix socket is limited to about 100 bytes.
		root, err = os.MkdirTemp("", "host-")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(os.RemoveAll, root)
		Expect(os.Mkdir(filepath.Join(root, "lab"), 0o755)).To(Succeed())
	})

	It("blocks a command until the test releases it", func() {
		met, goOn := make(chan rendezvous.Moment), make(chan struct{})
		place, err := rendezvous.Open(root, func(moment rendezvous.Moment) {
			met <- moment
			<-goOn
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(place.Close)
		went := make(chan error, 1)
		moment := rendezvous.Moment{Argv: []string{"elemental", "upgrade"}, Done: true}
		go func() { went <- rendezvous.Meet(root, moment) }()
		Eventually(met).Should(Receive(Equal(moment)))
		Consistently(went, "50ms").ShouldNot(Receive())
		close(goOn)
		Eventually(went).Should(Receive(BeNil()))
	})

	It("does not block where no test listens", func() {
		Expect(rendezvous.Meet(root, rendezvous.Moment{})).To(Succeed())
		place, err := rendezvous.Open(root, func(rendezvous.Moment) { Fail("nobody is to come") })
		Expect(err).NotTo(HaveOccurred())
		Expect(place.Close()).To(Succeed())
		Expect(rendezvous.Meet(root, rendezvous.Moment{})).To(Succeed())
	})
})
