// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/hooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
)

var _ = Describe("Register", func() {
	It("is accepted by Cluster API's extension server, once", func() {
		catalog := runtimecatalog.New()
		Expect(runtimehooksv1.AddToCatalog(catalog)).To(Succeed())
		server, err := runtimeserver.New(runtimeserver.Options{Catalog: catalog, CertDir: GinkgoT().TempDir()})
		Expect(err).NotTo(HaveOccurred())
		handlers, _ := newHandlers()
		Expect(hooks.Register(server, handlers)).To(Succeed())
		Expect(hooks.Register(server, handlers)).To(MatchError(ContainSubstring(inplace.CanUpdateMachineHandler)))
	})
})
