// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const contractLabel = "cluster.x-k8s.io/v1beta2"

// definition is the CRD of a kind, by the name that Cluster API looks up.
func definition(ctx context.Context, kind string) *unstructured.Unstructured {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	key := client.ObjectKey{Name: contract.CalculateCRDName(infrav1.GroupVersion.Group, kind)}
	Expect(theLab.Kube.Get(ctx, key, crd)).To(Succeed())
	return crd
}

func field(object *unstructured.Unstructured, path ...string) any {
	GinkgoHelper()
	value, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	Expect(err).NotTo(HaveOccurred())
	return value
}

// status are the properties of a kind's status.
func status(ctx context.Context, kind string) map[string]any {
	GinkgoHelper()
	versions, _, err := unstructured.NestedSlice(definition(ctx, kind).Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	version, _ := versions[0].(map[string]any)
	properties, _, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status", "properties")
	Expect(err).NotTo(HaveOccurred())
	return properties
}

// common are the rules of both pages, for a kind and its template.
func common(kinds ...string) rules {
	each := func(try func(ctx SpecContext, crd *unstructured.Unstructured)) func(SpecContext) {
		return func(ctx SpecContext) {
			for _, kind := range kinds {
				try(ctx, definition(ctx, kind))
			}
		}
	}
	return rules{
		"All resources: scope": each(func(_ SpecContext, crd *unstructured.Unstructured) {
			Expect(field(crd, "spec", "scope")).To(Equal("Namespaced"))
		}),
		"All resources: `TypeMeta` and `ObjectMeta`field": each(func(ctx SpecContext, crd *unstructured.Unstructured) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(infrav1.GroupVersion.WithKind(field(crd, "spec", "names", "listKind").(string)))
			Expect(theLab.Kube.List(ctx, list)).To(Succeed())
			for _, object := range list.Items {
				Expect([]string{object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName()}).NotTo(ContainElement(""))
			}
		}),
		"All resources: `APIVersion` field value": each(func(_ SpecContext, crd *unstructured.Unstructured) {
			Expect(field(crd, "spec", "group")).To(Equal("infrastructure.cluster.x-k8s.io"))
			served, _ := field(crd, "spec", "versions").([]any)
			Expect(served).To(ContainElement(HaveKeyWithValue("name", crd.GetLabels()[contractLabel])), "the label names a version that there is")
		}),
		"Multi tenancy": func(ctx SpecContext) {
			said, err := exec.CommandContext(ctx, filepath.Join(theLab.Root(), "bin", "manager"), "--help").CombinedOutput()
			Expect(err).NotTo(HaveOccurred())
			Expect(string(said)).To(And(ContainSubstring("--namespace string"), ContainSubstring("--watch-filter string")))
		},
		"Clusterctl support": func(ctx SpecContext) {
			metadata, err := os.ReadFile(filepath.Join(theLab.Root(), "metadata.yaml"))
			Expect(err).NotTo(HaveOccurred())
			Expect(string(metadata)).To(ContainSubstring("contract: v1beta2"))
			for _, kind := range kinds {
				Expect(definition(ctx, kind).GetLabels()).To(HaveKey(contractLabel), "the contract that metadata.yaml says")
			}
		},
	}
}

// isDefined asserts that a kind has a list kind.
func isDefined(kind string) func(SpecContext) {
	return func(ctx SpecContext) {
		crd := definition(ctx, kind)
		Expect(field(crd, "spec", "names", "kind")).To(Equal(kind))
		Expect(field(crd, "spec", "names", "listKind")).To(Equal(kind + "List"))
		Expect(field(crd, "spec", "names", "categories")).To(ContainElement("cluster-api"))
	}
}

// noTerminalFailures asserts that a status has none of the failure fields of the former contract.
func noTerminalFailures(kind string) func(SpecContext) {
	return func(ctx SpecContext) {
		Expect(status(ctx, kind)).To(And(HaveKey("conditions"), Not(HaveKey("failureReason")), Not(HaveKey("failureMessage")), Not(HaveKey("ready"))))
	}
}
