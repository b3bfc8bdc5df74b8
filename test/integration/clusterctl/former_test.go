// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/util/contract"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// formerTag is the last release of the predecessor.
const formerTag = "v0.7.0"

// formerKinds are the kinds of version 0.7. Those without a status had no subresource either.
var formerKinds = map[string]bool{
	"ElementalCluster": true, "ElementalClusterTemplate": false, "ElementalHost": true,
	"ElementalMachine": true, "ElementalMachineTemplate": false, "ElementalRegistration": true,
}

// formerCRD stands in for a CRD of version 0.7: its names, its label with the former contract, and any content.
func formerCRD(kind string, hasStatus bool) string {
	subresources := ""
	if hasStatus {
		subresources = "\n    subresources: {status: {}}"
	}
	return fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[2]ss.infrastructure.cluster.x-k8s.io
  labels: {cluster.x-k8s.io/v1beta1: v1beta1}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]ss, singular: %[2]s}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true%[3]s
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`, kind, strings.ToLower(kind), subresources)
}

func crdName(kind string) string { return contract.CalculateCRDName(infrav1.GroupVersion.Group, kind) }

// writeFormerRelease adds the stand-in for version 0.7 to a repository.
func writeFormerRelease(directory string) {
	GinkgoHelper()
	folder := filepath.Join(directory, "repository", "infrastructure-elemental", formerTag)
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	components, err := os.ReadFile(formerFile("components.yaml"))
	Expect(err).NotTo(HaveOccurred())
	for kind, hasStatus := range formerKinds {
		components = append(components, formerCRD(kind, hasStatus)...)
	}
	Expect(os.WriteFile(filepath.Join(folder, "infrastructure-components.yaml"), components, 0o644)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(folder, "metadata.yaml"), []byte(`apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- {major: 0, minor: 7, contract: v1beta1}
`), 0o644)).To(Succeed())
}

func formerFile(name string) string {
	return filepath.Join(root, "test", "integration", "clusterctl", "testdata", "predecessor", name)
}

// startFormerPlane starts a lab on which clusterctl has installed Cluster API and the stand-in for version 0.7.
func startFormerPlane(ctx context.Context) *plane {
	GinkgoHelper()
	p := &plane{directory: GinkgoT().TempDir()}
	suite.WriteRepository(ctx, root, p.directory, tag)
	writeFormerRelease(p.directory)
	suite.StartLab(ctx, lab.Options{
		WithoutProvider: true,
		Install: func(ctx context.Context, l *lab.Lab) error {
			p.Lab = l
			if err := p.startCertManager(ctx); err != nil {
				return err
			}
			if _, err := p.run(ctx, "init", "--infrastructure", "elemental:"+formerTag); err != nil {
				return err
			}
			return p.awaitCertificates(ctx)
		},
	})
	return p
}
