// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// await waits for the Node, and for DNS on it.
func (n *podNode) await(ctx context.Context) {
	GinkgoHelper()
	Eventually(n.kubectl).WithContext(ctx).WithArguments("get", "nodes").Should(MatchRegexp(n.Name + ` +Ready `))
	setup.InstallDNS(ctx, &n.Node)
}

var _ = Describe("The Node", Ordered, func() {
	BeforeAll(func(ctx SpecContext) { first.await(ctx) })

	It("lets a Pod reach another by the name of its Service, and this machine reach it at its address", func(ctx SpecContext) {
		kubectl(ctx, "apply", "--filename", "testdata/greeter.yaml")
		first.awaitDeployment(ctx, "default", "greeter")
		kubectl(ctx, "wait", "--for=condition=Complete", "job/call", "--timeout", specs.Patience.String())
		address := kubectl(ctx, "get", "service", "greeter", "--output", "jsonpath={.spec.clusterIP}")
		Expect(osimage.Run(setup.Built("lab/greeter"), "call", "http://"+address)).To(BeEmpty())
	})
})
