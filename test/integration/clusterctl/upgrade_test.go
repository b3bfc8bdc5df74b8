// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// deprecation is a warning of API servers for a client that lists all kinds, as clusterctl does.
const deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\n"

func withoutDeprecation(told string) string { return strings.ReplaceAll(told, deprecation, "") }

// describeUpgrade upgrades both providers on the management cluster that manages the cluster.
func describeUpgrade(cluster func() *scenario.Cluster, boots func() map[string]int) {
	Describe("clusterctl upgrade", Ordered, func() {
		const next = "v0.8.1"

		BeforeAll(func(ctx SpecContext) { suite.WriteRelease(ctx, root, directory, next) })

		It("plan offers the next release of both providers, as docs/install.md shows", func(ctx SpecContext) {
			said := source.ctl(ctx, "upgrade", "plan")
			Expect(said).To(And(
				MatchRegexp(`(?m)^infrastructure-elemental +.* `+tag+` +`+next+`$`),
				MatchRegexp(`(?m)^runtime-extension-elemental +.* `+tag+` +`+next+`$`),
			))
			Expect(page("install.md")).To(ContainSubstring(strings.TrimSpace(said)))
		})

		It("apply keeps the ExtensionConfig, and the hosts as they were", func(ctx SpecContext) {
			extension := func(ctx context.Context) (*runtimev1.ExtensionConfig, error) {
				config := &runtimev1.ExtensionConfig{}
				return config, source.Kube.Get(ctx, client.ObjectKey{Name: capi.ExtensionName}, config)
			}
			former, err := extension(ctx)
			Expect(err).NotTo(HaveOccurred())
			identities, err := cluster().Identities(ctx)
			Expect(err).NotTo(HaveOccurred())
			booted := boots()

			source.Provider.Process.Kill() // its Deployment is scaled down
			source.ctl(ctx, "upgrade", "apply", "--infrastructure", "elemental:"+next, "--runtime-extension", "elemental:"+next)
			Expect(page("install.md")).To(ContainSubstring(withoutDeprecation(source.told)))
			Expect(source.forgetWebhooks(ctx)).To(Succeed())
			Expect(source.Provider.Process.Restart()).To(Succeed())
			source.awaitDiscovered(ctx)

			Expect(extension(ctx)).To(And(
				HaveField("UID", former.UID), HaveField("Spec", former.Spec), HaveField("Status.Handlers", former.Status.Handlers)))
			said := source.kubectl(ctx, "get", "providers.clusterctl.cluster.x-k8s.io", "--namespace", lab.ManagerNamespace)
			Expect(said).To(And(MatchRegexp("infrastructure-elemental .*"+next), MatchRegexp("runtime-extension-elemental .*"+next)))
			Expect(source.kubectl(ctx, "get", "deployment", "elemental-controller-manager", "--namespace", lab.ManagerNamespace, "--output", "wide")).
				To(ContainSubstring(":" + next))
			Eventually(source.Metrics).WithContext(ctx).Should(
				HaveKeyWithValue("elemental_hostapi_held_polls", BeEquivalentTo(workers+1)), "each host has come back")
			Expect(cluster().Identities(ctx)).To(Equal(identities))
			Expect(boots()).To(Equal(booted))
		})
	})
}

// describeRemoval removes both providers from the management cluster without Clusters, as docs/install.md describes,
// and reinstalls the one that was first removed alone.
func describeRemoval() {
	Describe("clusterctl delete", Ordered, func() {
		extension := func(ctx context.Context) string {
			GinkgoHelper()
			return target.kubectl(ctx, "get", "extensionconfigs", "--output", "name")
		}

		It("--runtime-extension keeps the ExtensionConfig, which a person deletes", func(ctx SpecContext) {
			target.ctl(ctx, "delete", "--runtime-extension", "elemental")
			Expect(extension(ctx)).NotTo(BeEmpty())
			target.kubectl(ctx, "delete", "extensionconfig", "elemental")
			Expect(extension(ctx)).To(BeEmpty())
		})

		It("can be followed by an init, after which Cluster API retries the discovery of the hooks until it succeeds", func(ctx SpecContext) {
			target.Provider.Process.Kill()
			target.ctl(ctx, "init", "--runtime-extension", "elemental")
			Expect(page("install.md")).To(ContainSubstring(target.told))
			Eventually(target.discovered).WithContext(ctx).Should(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Message", HavePrefix("Error in discovery: "))))
			Expect(target.Provider.Process.Restart()).To(Succeed())
			target.awaitDiscovered(ctx)
		})

		It("--infrastructure keeps the CRDs, and the namespace with the CA that hosts pin", func(ctx SpecContext) {
			target.kubectl(ctx, "delete", "extensionconfig", "elemental")
			target.ctl(ctx, "delete", "--runtime-extension", "elemental")
			target.ctl(ctx, "delete", "--infrastructure", "elemental")
			said := target.kubectl(ctx, "get", "deployments,services,certificates.cert-manager.io", "--namespace", lab.ManagerNamespace, "--output", "name")
			Expect(said).To(BeEmpty())
			Expect(target.Kube.Get(ctx, client.ObjectKey{Name: lab.ManagerNamespace}, &corev1.Namespace{})).To(Succeed())
			Expect(target.kubectl(ctx, "get", "crd", "elementalhosts.infrastructure.cluster.x-k8s.io")).NotTo(BeEmpty())
		})
	})
}
