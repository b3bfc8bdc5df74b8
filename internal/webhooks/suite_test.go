// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
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
	mgr := server.NewManager()
	Expect(webhooks.SetupWithManager(mgr)).To(Succeed())
	server.Run(mgr)

	person = server.NewPerson()
})
