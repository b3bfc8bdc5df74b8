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
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
)

var _ = Describe("Connections whose callers have proven nothing", func() {
	const limit = 2
	var track func(net.Conn, http.ConnState)

	BeforeEach(func() { track = hostapi.TrackUnproven(limit) })

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

	It("count although they ask, and keep their age", func() {
		first, second := enter(http.StateNew), enter(http.StateNew)
		track(first, http.StateActive)
		enter(http.StateNew)
		Expect(closed(first)).To(BeTrue())
		Expect(closed(second)).To(BeFalse())
	})

	DescribeTable("do not count once they", func(state http.ConnState) {
		first, second := enter(http.StateNew), enter(http.StateNew)
		track(first, state)
		third := enter(http.StateNew)
		for _, connection := range []net.Conn{first, second, third} {
			Expect(closed(connection)).To(BeFalse())
		}
	},
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

var _ = Describe("A server with few places for connections whose callers have proven nothing", func() {
	const places = 4
	var (
		small *apitest.API
		host  *machine
		// begun receives when a report is about to be stored, which happens once go on is closed.
		begun, goOn chan struct{}
	)

	BeforeEach(func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host = registered(ctx, endpoint, "m-1")
		begun, goOn = make(chan struct{}), make(chan struct{})
		small = startAPI(func(options *hostapi.Options) {
			// A body may take longer than the spec: it is not the deadline that ends what it looks at.
			options.Endpoint, options.MaxUnproven, options.BodyTimeout = api.Endpoint, places, time.Hour
			options.Client = interceptor.NewClient(plane.Client, interceptor.Funcs{SubResourcePatch: func(
				ctx context.Context, to client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
			) error {
				begun <- struct{}{}
				<-goOn
				return to.SubResource(part).Patch(ctx, object, patch, options...)
			}})
		})
	})
	urlOf := func(one *machine, path string) string {
		return small.Address + strings.TrimPrefix(one.url(path), api.Endpoint)
	}
	// promise sends the header of a report whose body never comes.
	promise := func(ctx context.Context, headers ...header) net.Conn {
		GinkgoHelper()
		target, err := url.Parse(urlOf(host, "/report"))
		Expect(err).NotTo(HaveOccurred())
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(ctx, "tcp", target.Host)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _ = connection.Close() }) // which fails where the server has hung up
		text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n", target.Path, target.Host)
		for _, one := range headers {
			text += one.name + ": " + one.value + "\r\n"
		}
		_, err = io.WriteString(connection, text+"\r\n")
		Expect(err).NotTo(HaveOccurred())
		return connection
	}
	hungUp := func(connection net.Conn) error {
		_ = connection.SetReadDeadline(time.Now().Add(time.Minute))
		_, err := io.Copy(io.Discard, connection)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		return nil
	}

	DescribeTable("hangs up on the oldest request whose body does not come",
		func(ctx SpecContext, headers func() []header) {
			var connections []net.Conn
			for range 3 * places {
				connections = append(connections, promise(ctx, headers()...))
			}
			for _, connection := range connections[:2*places] {
				Expect(hungUp(connection)).To(Succeed())
			}
		},
		Entry("of a stranger", func() []header { return nil }),
		Entry("of a host that has proven who it is", func() []header { return []header{host.auth()} }),
	)

	It("keeps a request that is authenticated and read while it is worked on, however many there are", func(ctx SpecContext) {
		const reports = 3 * places
		statuses := make([]int, reports)
		var all sync.WaitGroup
		for n := range reports {
			one := registered(ctx, host.endpoint, fmt.Sprintf("m-%d", n+2))
			by := newHTTPClient(small)
			all.Go(func() {
				statuses[n] = request(ctx, by, http.MethodPost, urlOf(one, "/report"), everything(), one.auth()).status
			})
			Eventually(begun).Should(Receive())
		}
		close(goOn)
		all.Wait()
		Expect(statuses).To(HaveEach(http.StatusNoContent))
	})
})
