// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/events"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// bodyTimeout of the server under test: short, so that the spec of a slow body is.
const bodyTimeout = 300 * time.Millisecond

var (
	plane *apiserver.Server
	api   *apitest.API
	// certDir is that of api.
	certDir string
	// shared connections of all specs that do not need their own.
	shared *http.Client
	// recorder of the Events of api.
	recorder = events.NewFakeRecorder(1000)
)

func TestHostAPI(t *testing.T) {
	specs.Run(t, "Host API")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyPollingInterval(10 * time.Millisecond)
	plane = apiserver.StartForSuite()
	api = startAPI(func(options *hostapi.Options) {
		options.BodyTimeout = bodyTimeout
		certDir = options.CertDir
		options.Recorder = recorder
	})
	shared = newHTTPClient(api)
})

// startAPI runs a server until the spec, or the suite, ends.
func startAPI(change func(*hostapi.Options)) *apitest.API {
	GinkgoHelper()
	started, err := apitest.StartAPI(plane, GinkgoT().TempDir(), change)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(started.Stop)
	return started
}

func newHTTPClient(of *apitest.API) *http.Client {
	GinkgoHelper()
	transport, err := of.Transport()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// openRegistration makes a registration and waits until the server knows it.
func openRegistration(ctx context.Context, change func(*infrav1.ElementalRegistrationSpec)) *apitest.RegistrationEndpoint {
	GinkgoHelper()
	spec := infrav1.ElementalRegistrationSpec{Approval: infrav1.ApprovalManual}
	if change != nil {
		change(&spec)
	}
	endpoint, err := apitest.OpenRegistration(ctx, plane, api.Endpoint, "edge", spec)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() int { return get(ctx, endpoint, "", asRegistration(endpoint)).status }).Should(Equal(http.StatusOK))
	return endpoint
}

func approveAll(spec *infrav1.ElementalRegistrationSpec) { spec.Approval = infrav1.ApprovalAuto }
