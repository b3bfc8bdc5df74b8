// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/utils/clock"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// page of the documentation.
func page(name string) string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(root, "docs", name))
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// These specs assert on what happened when the plane was started.
var _ = Describe("clusterctl init, with both providers in one command", func() {
	It("prints what docs/install.md shows", func() {
		said, _, found := strings.Cut(source.initialising, "\nYou can now")
		Expect(found).To(BeTrue())
		Expect(page("install.md")).To(ContainSubstring(strings.TrimSpace(said)))
	})

	It("has installed both providers, and Cluster API's", func(ctx SpecContext) {
		const release = `v0\.8\.[01]` // they may have been upgraded
		said := source.kubectl(ctx, "get", "providers.clusterctl.cluster.x-k8s.io", "--all-namespaces")
		Expect(said).To(And(
			MatchRegexp(`elemental-system +infrastructure-elemental +.* InfrastructureProvider +elemental +`+release),
			MatchRegexp(`elemental-system +runtime-extension-elemental +.* RuntimeExtensionProvider +elemental +`+release),
			ContainSubstring("control-plane-kubeadm"),
		))
	})

	It("retries the ExtensionConfig, which is rejected until Cluster API's webhook answers", func() {
		answers := []bool{}
		for _, event := range slices.DeleteFunc(suite.Audit(source.Management), func(e auditv1.Event) bool { return !writesExtension(e) }) {
			answers = append(answers, audit.Succeeded(event))
		}
		Expect(answers[0]).To(BeFalse())
		Expect(answers).To(ContainElement(true))
	})

	It("ends with all handlers of docs/install.md discovered", func(ctx SpecContext) {
		said := source.kubectl(ctx, "get", "extensionconfig", "elemental", "--output", `jsonpath={range .status.handlers[*]}{.name}{"\n"}{end}`)
		handlers := strings.Fields(said)
		slices.Sort(handlers)
		Expect(handlers).To(HaveLen(8))
		Expect(page("install.md")).To(ContainSubstring("\n" + strings.Join(handlers, "\n") + "\n```"))
	})

	It("enables all feature gates that in-place updates of workers and control planes need", func(ctx SpecContext) {
		const namespace = "proof"
		Expect(source.CreateNamespace(ctx, namespace)).To(Succeed())
		prover := &inplace.Prover{Live: source.Kube, Owners: &owner.Owners{Client: source.Kube, Live: source.Kube, Clock: clock.RealClock{}}}
		Expect(prover.Prove(ctx, namespace,
			owner.ForMachineDeployment(ownertest.MachineDeployment(namespace, "md", "c", "t", 1)),
			owner.ForKubeadmControlPlane(ownertest.KubeadmControlPlane(namespace, "cp", "c", "t")),
		)).To(BeEmpty())
	})
})
