// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// rke2CRDs names the environment variable with a folder of the CRDs of Cluster API's RKE2 providers, which are not
// available as a Go module. Without it stubs are used, and the fields of RKE2's kinds are not validated.
const rke2CRDs = "RKE2_CRDS"

var _ = Describe("clusterctl generate provider", func() {
	It("generates infrastructure components that an API server accepts", func(ctx SpecContext) {
		source.accepts(ctx, source.ctl(ctx, "generate", "provider", "--infrastructure", "elemental"))
	})

	It("generates the components of the runtime extension, with an ExtensionConfig that works", func(ctx SpecContext) {
		generated := source.ctl(ctx, "generate", "provider", "--runtime-extension", "elemental")
		Expect(generated).To(ContainSubstring("kind: ExtensionConfig"))
		source.accepts(ctx, generated)
	})
})

var _ = Describe("clusterctl generate cluster", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		Expect(source.CreateNamespace(ctx, "flavors")).To(Succeed())
		source.kubectl(ctx, "apply", "--server-side", "--filename", filepath.Join(root, "bin", "manifests", "k3s-crds.yaml"))
		source.kubectl(ctx, "apply", "--server-side", "--filename", cmp.Or(os.Getenv(rke2CRDs), filepath.Join("testdata", "rke2-crds.yaml")))
		source.kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all")
	})

	DescribeTable("generates a manifest of which an API server accepts every object: flavor",
		func(ctx SpecContext, flavor, version string) {
			args := []string{"generate", "cluster", "shop", "--infrastructure", "elemental", "--target-namespace", "flavors", "--kubernetes-version", version}
			if flavor != "" {
				args = append(args, "--flavor", flavor)
			}
			source.accepts(ctx, source.ctl(ctx, args...))
		},
		Entry("none", "", "v1.36.3"),
		Entry(nil, "kubeadm", "v1.36.3"),
		Entry(nil, "kubeadm-single-node", "v1.36.3"),
		Entry(nil, "kubeadm-clusterclass", "v1.36.3"),
		Entry(nil, "rke2", "v1.35.1+rke2r1"),
		Entry(nil, "rke2-single-node", "v1.35.1+rke2r1"),
		Entry(nil, "rke2-clusterclass", "v1.35.1+rke2r1"),
		Entry(nil, "k3s", "v1.35.1+k3s1"),
		Entry(nil, "k3s-single-node", "v1.35.1+k3s1"),
		Entry(nil, "k3s-clusterclass", "v1.35.1+k3s1"),
	)

	It("lists the variables of a flavor", func(ctx SpecContext) {
		said := source.ctl(ctx, "generate", "cluster", "shop", "--infrastructure", "elemental", "--flavor", "kubeadm", "--target-namespace", "flavors", "--list-variables")
		Expect(said).To(And(ContainSubstring("ELEMENTAL_OS_IMAGE"), ContainSubstring("CONTROL_PLANE_ENDPOINT_HOST")))
	})
})

// accepts makes the API server validate the generated objects with its webhooks, in a dry run.
func (p *plane) accepts(ctx context.Context, generated string) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "generated.yaml")
	Expect(os.WriteFile(file, []byte(generated), 0o600)).To(Succeed())
	p.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename", file)
}

var _ = Describe("hack/kind/registration.yaml", func() {
	It("is accepted", func(ctx SpecContext) {
		source.kubectl(ctx, "create", "--dry-run=server", "--namespace", "default", "--filename", filepath.Join(root, "hack", "kind", "registration.yaml"))
	})
})
