// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestHostUpgrade(t *testing.T) {
	specs.Run(t, "ElementalHostUpgrade Controller Suite")
}

var (
	server *apiserver.Server
	// live reads and writes the API server, which is management and workload cluster in one.
	live client.WithWatch
	// memory answers most reads of live: specs make thousands.
	memory *apiserver.Memory
)

var _ = BeforeSuite(func() {
	server = apiserver.StartForSuite()
	var err error
	memory, err = server.NewMemory()
	Expect(err).NotTo(HaveOccurred())
	live = memory.Client
})
