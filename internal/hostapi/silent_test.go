// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"net"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
)

var _ = Describe("Connections on which nothing is asked", func() {
	const limit = 2
	var track func(net.Conn, http.ConnState)

	BeforeEach(func() { track = hostapi.TrackSilent(limit) })

	enter := func(state http.ConnState) net.Conn {
		ours, theirs := net.Pipe()
		DeferCleanup(theirs.Close)
		track(ours, state)
		return ours
	}
	closed := func(connection net.Conn) bool {
		return connection.SetDeadline(time.Time{}) != nil
	}

	It("are kept up to the limit, and beyond it the oldest is closed", func() {
		first, second, third := enter(http.StateNew), enter(http.StateIdle), enter(http.StateNew)
		Expect(closed(first)).To(BeTrue())
		Expect(closed(second)).To(BeFalse())
		Expect(closed(third)).To(BeFalse())
	})

	DescribeTable("do not count once they", func(state http.ConnState) {
		first, second := enter(http.StateNew), enter(http.StateNew)
		track(first, state)
		third := enter(http.StateNew)
		for _, connection := range []net.Conn{first, second, third} {
			Expect(closed(connection)).To(BeFalse())
		}
	},
		Entry("ask", http.StateActive),
		Entry("are parked", http.StateHijacked),
		Entry("are closed", http.StateClosed),
	)

	It("are young again after each answer", func() {
		first, second := enter(http.StateNew), enter(http.StateNew)
		track(first, http.StateActive)
		track(first, http.StateIdle)
		enter(http.StateNew)
		Expect(closed(first)).To(BeFalse())
		Expect(closed(second)).To(BeTrue())
	})
})
