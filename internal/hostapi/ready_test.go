// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"net"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
)

var _ = It("is ready once hosts can connect, and not before", func(ctx SpecContext) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	options := hostapi.Options{
		Client: plane.Client, APIReader: plane.Client, Cache: &informertest.FakeInformers{Scheme: plane.Scheme},
		Endpoint: "https://elemental.example.com:9090", CertDir: GinkgoT().TempDir(), Listener: listener,
		Recorder: recorder,
	}
	server, err := hostapi.New(options)
	Expect(err).NotTo(HaveOccurred())
	Expect(server.Start(ctx)).NotTo(Succeed(), "it has no certificate")
	Expect(server.Ready(nil)).To(MatchError("the Elemental API does not listen yet"))

	_, err = apitest.WriteCertificate(options.CertDir)
	Expect(err).NotTo(HaveOccurred())
	serving, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Start(serving) }()
	Eventually(func() error { return server.Ready(nil) }).Should(Succeed())
	stop()
	Eventually(stopped).Should(Receive(BeNil()))
})
