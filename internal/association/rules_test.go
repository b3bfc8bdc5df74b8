// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

var _ = DescribeTable("A host keeps the rules of signatures that it has", func(ctx SpecContext, cluster *infrav1.ElementalCluster) {
	ns := server.NewNamespace(ctx)
	strict := &infrav1.ImageVerification{
		Rules: []infrav1.ImageVerificationRule{{Prefix: "r.test", PublicKeys: []string{"key"}}}, Unmatched: infrav1.UnmatchedImageRefuse,
	}
	machine, host := makeMachine(ctx, ns, "m1"), makeHost(ctx, ns, "h1", func(h *infrav1.ElementalHost) {
		h.Annotations = map[string]string{infrav1.RegistrationNameAnnotation: "not-moved-yet"}
		h.Spec.ImageVerification = strict
	})
	claim := claimOf(machine)
	claim.ElementalCluster = cluster
	Expect(association.Assign(ctx, server.Client, host, claim)).To(Succeed())
	Expect(host.Spec.ImageVerification).To(Equal(strict))
},
	Entry("while its cluster's infrastructure is not there", nil),
	Entry("while its registration is not there", &infrav1.ElementalCluster{}),
)
