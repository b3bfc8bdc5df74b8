// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/kinds"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestKubeVirt(t *testing.T) {
	specs.Run(t, "Evacuation of Virtual Machines Suite")
}

// live reads and writes the API server, which has KubeVirt's kinds and nothing of KubeVirt.
var (
	server *apiserver.Server
	live   client.WithWatch
)

var _ = BeforeSuite(func(ctx SpecContext) {
	server = apiserver.StartForSuite()
	live = server.Client
	Expect(kinds.Install(ctx, live)).To(Succeed())
})
