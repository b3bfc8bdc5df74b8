// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (

	// callers is the number of clients that open a connection and then send nothing more.
	callers = 10_000
	// kept is the number of connections that the API keeps, and each the memory per connection that is allowed, in
	// bytes: about 45 KiB are in use, with the default GOGC the heap doubles before it is collected, and grows further
	// while a collection waits for a processor. Memory for all callers would be twice as much as is allowed.
	kept = 4096
	each = 128 << 10
	// memory obtained from the operating system, in bytes.
	memory = "go_memstats_sys_bytes"
	// files that the manager has open: connections, and at most ours of other kinds.
	files = "process_open_fds"
	ours  = 500
)

// quiet is the manager's memory before the first client.
var quiet int

// insecure suffices for a client that only wants to consume resources.
var insecure = &tls.Config{InsecureSkipVerify: true}

// caller connects and stops halfway.
type caller = func(context.Context, net.Conn) error

func openOnly(context.Context, net.Conn) error { return nil }

func halfHandshake(_ context.Context, connection net.Conn) error {
	// A TLS handshake record whose 512 bytes are never sent.
	_, err := connection.Write([]byte{22, 3, 1, 2, 0, 1, 0, 1, 252})
	return err
}

func halfHeader(ctx context.Context, connection net.Conn) error {
	secured := tls.Client(connection, insecure)
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	_, err := secured.Write([]byte("GET /elemental/v1/ HTTP/1.1\r\nHost: "))
	return err
}

// bodyless sends a request whose body is never sent.
func bodyless(ctx context.Context, connection net.Conn) error {
	secured := tls.Client(connection, insecure)
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	_, err := secured.Write([]byte("POST /elemental/v1/namespaces/default/registrations/none/hosts HTTP/1.1\r\n" +
		"Host: x\r\nContent-Length: 1000\r\n\r\n"))
	return err
}

var _ = Describe(fmt.Sprintf("%d callers at once", callers), Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		Eventually(ask).WithContext(ctx).Should(Equal(http.StatusUnauthorized), "the API is there")
		var err error
		quiet, err = metric(ctx, memory)
		Expect(err).NotTo(HaveOccurred())
	})

	DescribeTable("use bounded memory, are disconnected, and do not affect other clients, if they", func(ctx SpecContext, kinds ...caller) {
		var connections []net.Conn
		DeferCleanup(func() {
			for _, connection := range connections {
				_ = connection.Close()
			}
		})
		connections = callInWaves(ctx, kinds)
		Expect(connections).To(HaveLen(callers))

		Expect(metric(ctx, files)).To(BeNumerically("<=", kept+ours), "more callers than that are not kept")
		Expect(ask(ctx)).To(Equal(http.StatusUnauthorized), "who asks is answered")
		after, err := metric(ctx, memory)
		Expect(err).NotTo(HaveOccurred())
		grown := after - quiet
		AddReportEntry("memory", fmt.Sprintf("%d MiB before, %d MiB more for %d callers", quiet>>20, grown>>20, callers))
		Expect(grown).To(BeNumerically("<", kept*each))

		By("waiting until all have been disconnected")
		for _, connection := range connections {
			_ = connection.SetReadDeadline(time.Now().Add(specs.Patience))
			_, err := io.Copy(io.Discard, connection)
			Expect(errors.Is(err, os.ErrDeadlineExceeded)).To(BeFalse(), "hung up on within %s", specs.Patience)
		}
		Eventually(metric).WithContext(ctx).WithArguments("go_goroutines").Should(BeNumerically("<", 1000))
		Expect(ask(ctx)).To(Equal(http.StatusUnauthorized))
	},
		Entry("open a connection and send nothing more", SpecTimeout(5*time.Minute), openOnly, halfHandshake, halfHeader),
		Entry("announce a body that they do not send", SpecTimeout(5*time.Minute), bodyless),
	)
})

// callInWaves starts callers of all kinds, not more at once than the kernel's accept queue holds.
func callInWaves(ctx context.Context, kinds []caller) []net.Conn {
	GinkgoHelper()
	connections := make([]net.Conn, callers)
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(200)
	for n := range connections {
		calls.Go(func() error {
			connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", theLab.ElementalAPI())
			if err != nil {
				return fmt.Errorf("calling for the %d. time: %w", n, err)
			}
			connections[n] = connection
			if err := kinds[n%len(kinds)](ctx, connection); err != nil {
				return fmt.Errorf("stopping half-way in call %d: %w", n, err)
			}
			return nil
		})
	}
	Expect(calls.Wait()).To(Succeed())
	return connections
}

// ask requests a page that needs no token, on a new connection.
func ask(ctx context.Context) (int, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true}}
	url := "https://" + theLab.ElementalAPI() + "/elemental/v1/namespaces/default/registrations/none"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

// metric of the manager, by its name.
func metric(ctx context.Context, name string) (int, error) {
	all, err := theLab.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	value, found := all[name]
	if !found {
		return 0, fmt.Errorf("no %s among the metrics", name)
	}
	return int(value), nil
}
