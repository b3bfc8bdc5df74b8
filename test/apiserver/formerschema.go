// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// WithFormerSchema calls a function while the schema of osVersionManagement in a kind is that of version 0.7, which accepted anything. Where
// that is follows from the kind.
func (s *Server) WithFormerSchema(ctx context.Context, kind string, store func()) {
	GinkgoHelper()
	mapping, err := s.Client.RESTMapper().RESTMapping(infrav1.GroupVersion.WithKind(kind).GroupKind(), infrav1.GroupVersion.Version)
	Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	definitions, err := client.New(s.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	path := []string{"spec"}
	if kind == "ElementalMachineTemplate" {
		path = append(path, "template", "spec")
	}
	// replace the fields of the schema, and return those that it had.
	replace := func(fields map[string]apiextensionsv1.JSONSchemaProps) map[string]apiextensionsv1.JSONSchemaProps {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		Expect(definitions.Get(ctx, client.ObjectKey{Name: mapping.Resource.Resource + "." + infrav1.GroupVersion.Group}, crd)).To(Succeed())
		parent := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		for _, name := range path {
			parent = parent[name].Properties
		}
		management := parent["osVersionManagement"]
		former := management.Properties
		management.Properties = fields
		parent["osVersionManagement"] = management
		Expect(definitions.Update(ctx, crd)).To(Succeed())
		return former
	}

	odd := &unstructured.Unstructured{Object: map[string]any{}}
	odd.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind))
	odd.SetNamespace("default")
	odd.SetGenerateName("odd-")
	Expect(unstructured.SetNestedField(odd.Object, "odd", append(path, "osVersionManagement", infrav1.OSVersionKey)...)).To(Succeed())
	tried := func(ctx context.Context) error { return s.Client.Create(ctx, odd.DeepCopy(), client.DryRunAll) }

	fields := replace(nil)
	Eventually(tried).WithContext(ctx).Should(Succeed())
	store()
	replace(fields)
	Eventually(tried).WithContext(ctx).ShouldNot(Succeed())
}
