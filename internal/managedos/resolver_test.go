// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package managedos_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/elementaloperator"
)

func named(version string) infrav1.OSVersionManagement {
	return infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ManagedOSVersionName: version}}
}

var _ = Describe("A ManagedOSVersion", Ordered, func() {
	resolve := func(ctx SpecContext, wanted infrav1.OSVersionManagement) (infrav1.OSVersionManagement, *managedos.Problem) {
		GinkgoHelper()
		resolved, problem, err := managedos.Resolver{Live: server.Client}.Resolve(ctx, "default", wanted)
		Expect(err).NotTo(HaveOccurred())
		return resolved, problem
	}

	It("is not there without the Elemental operator", func(ctx SpecContext) {
		_, problem := resolve(ctx, named("v2"))
		Expect(problem.Reason).To(Equal(infrav1.ManagedOSVersionsNotInstalledReason))
		Expect(problem.Message).To(ContainSubstring("install the Elemental operator, or set imageURI"))

		By("which nothing else needs")
		image := osversion.OfImage("os:1")
		Expect(resolve(ctx, image)).To(Equal(image))
	})

	It("stands for its image, from the moment the operator is installed", func(ctx SpecContext) {
		Expect(elementaloperator.Install(server.Config)).To(Succeed())
		_, problem := resolve(ctx, named("v2"))
		Expect(problem.Reason).To(Equal(infrav1.ManagedOSVersionNotFoundReason))
		Expect(problem.Message).To(HavePrefix("ManagedOSVersion v2 does not exist in namespace default"))

		Expect(server.Client.Create(ctx, elementaloperator.ManagedOSVersion("default", "v2", "Container", "registry.example.com/os:v2"))).To(Succeed())
		resolved, problem := resolve(ctx, named("v2"))
		Expect(problem).To(BeNil())
		Expect(osversion.Decode(resolved)).To(Equal(infrav1.OSVersion{
			ImageURI: "registry.example.com/os:v2", ManagedOSVersionName: "v2", ResolvedFrom: "v2",
		}))
		Expect(resolve(ctx, resolved)).To(Equal(resolved))
	})

	DescribeTable("has no image for a host",
		func(ctx SpecContext, version *unstructured.Unstructured, reason, message string) {
			Expect(server.Client.Create(ctx, version)).To(Succeed())
			_, problem := resolve(ctx, named(version.GetName()))
			Expect(*problem).To(And(HaveField("Reason", reason), HaveField("Message", ContainSubstring(message))))
		},
		Entry("when it is an ISO", elementaloperator.ManagedOSVersion("default", "iso", "iso", "registry.example.com/os.iso"),
			infrav1.ManagedOSVersionNotContainerReason, `of type "iso", and hosts are upgraded to those of type "container" only`),
		Entry("when it names none", elementaloperator.ManagedOSVersion("default", "none", "container", " "),
			infrav1.ManagedOSVersionWithoutImageReason, "has no spec.metadata.upgradeImage"),
		Entry("when it names one that no host can fetch", elementaloperator.ManagedOSVersion("default", "web", "container", "https://a/os"),
			infrav1.ManagedOSVersionWithoutImageReason, `upgradeImage of ManagedOSVersion web: image "https://a/os" is not in a registry`),
	)
})
