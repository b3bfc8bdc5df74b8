// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// pemOf is the certificate of a server, which is its own authority.
func pemOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

const cannotReach = "cannot reach workload cluster edge: "

var _ = Describe("A workload cluster that cannot be reached", func() {
	// readNode reads a Node from an API server as the manager does, and says why that failed.
	readNode := func(ctx context.Context, config *rest.Config) string {
		GinkgoHelper()
		config.Timeout = 500 * time.Millisecond
		kube, err := client.New(config, client.Options{Scheme: scheme.Scheme, Mapper: server.Client.RESTMapper()})
		Expect(err).NotTo(HaveOccurred())
		said := ""
		for range 2 {
			_, err = workload.New(server.Client, kube).Node(ctx, "a")
			Expect(err).To(HaveOccurred())
			if said != "" {
				Expect(workload.Unreached("edge", err)).To(Equal(said), "the same each time")
			}
			said = workload.Unreached("edge", err)
		}
		return said
	}
	serve := func(handle http.HandlerFunc, start func(*httptest.Server)) *httptest.Server {
		edge := httptest.NewUnstartedServer(handle)
		edge.Config.ErrorLog = log.New(io.Discard, "", 0)
		start(edge)
		DeferCleanup(edge.Close)
		return edge
	}
	ok := func(http.ResponseWriter, *http.Request) {}

	It("refuses the connection", func(ctx SpecContext) {
		edge := serve(ok, (*httptest.Server).Start)
		edge.Close()
		Expect(readNode(ctx, &rest.Config{Host: edge.URL})).To(Equal(cannotReach + "its API server refuses the connection"))
	})
	It("does not answer in time", func(ctx SpecContext) {
		release := make(chan struct{})
		edge := serve(func(http.ResponseWriter, *http.Request) { <-release }, (*httptest.Server).Start)
		DeferCleanup(func() { close(release) })
		Expect(readNode(ctx, &rest.Config{Host: edge.URL})).To(Equal(cannotReach + "its API server does not answer in time"))
	})
	It("has a certificate of another authority", func(ctx SpecContext) {
		edge := serve(ok, (*httptest.Server).StartTLS)
		Expect(readNode(ctx, &rest.Config{Host: edge.URL})).To(
			Equal(cannotReach + "the certificate of its API server is signed by an authority that is not in the kubeconfig"))
	})
	It("has a certificate for another name", func(ctx SpecContext) {
		edge := serve(ok, (*httptest.Server).StartTLS)
		config := &rest.Config{Host: edge.URL}
		config.CAData, config.ServerName = pemOf(edge), "elsewhere.invalid"
		Expect(readNode(ctx, config)).To(HavePrefix(cannotReach + "the certificate of its API server is for another name: "))
	})
	It("answers with an error", func(ctx SpecContext) {
		edge := serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, (*httptest.Server).Start)
		Expect(readNode(ctx, &rest.Config{Host: edge.URL})).To(HavePrefix(cannotReach + "its API server answers 502: "))
	})
	It("does not know who asks", func(ctx SpecContext) {
		config := rest.AnonymousClientConfig(server.Config)
		config.BearerToken = "wrong"
		Expect(readNode(ctx, config)).To(Equal(cannotReach + "its API server does not accept the credentials in the kubeconfig"))
	})
})

var _ = DescribeTable("Why a workload cluster cannot be reached", func(cause error, expected string) {
	Expect(workload.Unreached("edge", cause)).To(Equal(cannotReach + expected))
},
	Entry("no connection", nil, "not connected, see condition RemoteConnectionProbe of the Cluster"),
	Entry("no connection, as an error", fmt.Errorf("looking: %w", workload.ErrUnreachable), "not connected, see condition RemoteConnectionProbe of the Cluster"),
	Entry("a right that is missing", apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "a", errors.New("no")),
		`its API server forbids it: nodes "a" is forbidden: no`),
	Entry("a name that is not known", &net.OpError{Op: "dial", Err: &net.DNSError{Name: "edge.invalid"}}, "the name of its API server cannot be resolved"),
	Entry("a connection that broke off", fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), "the connection to its API server broke off"),
	Entry("a connection that was reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, "the connection to its API server broke off"),
	Entry("a network without a way to it", &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, "there is no route to its API server"),
	Entry("a call that was given up", fmt.Errorf("reading: %w", context.DeadlineExceeded), "its API server does not answer in time"),
	Entry("an error of what its API server could not reach", apierrors.NewInternalError(errors.New("read tcp 10.0.0.1:43212->10.0.0.9:2379: connection reset by peer")),
		"its API server answers 500: Internal error occurred: read tcp 10.0.0.1->10.0.0.9:2379: connection reset by peer"),
	Entry("anything else", errors.New("read tcp 10.0.0.1:43212: odd"), "the request failed, see the log of the manager"),
)
