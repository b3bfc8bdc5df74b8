// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestWebhooks(t *testing.T) {
	specs.Run(t, "Webhooks Suite")
}

var (
	server *apiserver.Server
	// person is somebody who may do everything, and is not the manager.
	person *apiserver.Person
)

var _ = BeforeSuite(func() {
	server = apiserver.StartForSuite(apiserver.KindWebhooks)
	mgr, err := server.NewManager()
	Expect(err).NotTo(HaveOccurred())
	Expect(webhooks.SetupWithManager(mgr)).To(Succeed())
	stop, err := apiserver.Run(context.Background(), mgr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)

	person, err = server.NewPerson()
	Expect(err).NotTo(HaveOccurred())

	started := mgr.GetWebhookServer().StartedChecker()
	Eventually(func() error { return started(nil) }).Should(Succeed())
})
