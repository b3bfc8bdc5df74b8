// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestClusterDNS(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "clusterdns")
}

var _ = Describe("Names", func() {
	// resolver asks a server that answers like the program, as Go's resolver does.
	resolver := func(lookUp func(namespace, name string) (net.IP, error)) *net.Resolver {
		socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(socket.Close)
		go func() { _ = serve(socket, lookUp) }() // until the socket is closed
		return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("udp4", socket.LocalAddr().String())
		}}
	}
	greeter := func(namespace, name string) (net.IP, error) {
		switch namespace + "/" + name {
		case "default/greeter":
			return net.IPv4(10, 0, 0, 7).To4(), nil
		case "default/broken":
			return nil, errors.New("the API server is away")
		}
		return nil, nil
	}

	It("of Services are resolved to their addresses", func(ctx SpecContext) {
		Expect(resolver(greeter).LookupHost(ctx, "greeter.default.svc.cluster.local.")).To(ConsistOf("10.0.0.7"))
	})

	DescribeTable("are told apart from failures:", func(ctx SpecContext, name string, isNotFound bool) {
		_, err := resolver(greeter).LookupHost(ctx, name)
		Expect(err).To(BeAssignableToTypeOf(&net.DNSError{}))
		Expect(err).To(HaveField("IsNotFound", isNotFound))
	},
		Entry("a Service that is not there", "other.default.svc.cluster.local.", true),
		Entry("what is no name of a Service", "example.com.", true),
		Entry("an API server that does not answer", "broken.default.svc.cluster.local.", false),
	)

	DescribeTable("are read from whole messages only:", func(message []byte) {
		Expect(answer(message, greeter)).To(BeNil())
	},
		Entry("nothing", []byte{}),
		Entry("a header", make([]byte, headerLength)),
		Entry("a label that does not end", append([]byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}, 9, 'a')),
	)
})
