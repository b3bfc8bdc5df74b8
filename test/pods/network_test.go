// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// awaitNode waits for the Node, and for DNS on it.
func awaitNode(ctx context.Context) {
	GinkgoHelper()
	Eventually(kubectl).WithContext(ctx).WithArguments("get", "nodes").Should(MatchRegexp(nodeName + ` +Ready `))
	kubectl(ctx, "apply", "--filename", "testdata/dns.yaml")
	awaitDeployment(ctx, "kube-system", "clusterdns")
}

var _ = Describe("The Node", Ordered, func() {
	BeforeAll(func(ctx SpecContext) { awaitNode(ctx) })

	It("lets a Pod reach another by the name of its Service, and this machine reach it at its address", func(ctx SpecContext) {
		kubectl(ctx, "apply", "--filename", "testdata/greeter.yaml")
		awaitDeployment(ctx, "default", "greeter")
		kubectl(ctx, "wait", "--for=condition=Complete", "job/call", "--timeout", patience.String())
		address := kubectl(ctx, "get", "service", "greeter", "--output", "jsonpath={.spec.clusterIP}")
		Expect(run(built("lab/greeter"), "call", "http://"+address)).To(BeEmpty())
	})
})
