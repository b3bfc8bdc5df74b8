// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

// links are the references in an object, at any depth, as "Kind name".
func links(of any) []string {
	found := []string{}
	switch value := of.(type) {
	case []any:
		for _, element := range value {
			found = append(found, links(element)...)
		}
	case map[string]any:
		found = append(found, link(value)...)
		for _, field := range value {
			found = append(found, links(field)...)
		}
	}
	return found
}

// link is the reference in the fields of one level, if any.
func link(fields map[string]any) []string {
	text := func(from map[string]any, key string) string { value, _ := from[key].(string); return value }
	switch kind, name := text(fields, "kind"), text(fields, "name"); {
	case kind != "" && name != "":
		return []string{kind + " " + name}
	case text(fields, "secretName") != "" && fields["optional"] != true && fields["issuerRef"] == nil:
		return []string{"Secret " + text(fields, "secretName")}
	case text(fields, "serviceAccountName") != "":
		return []string{"ServiceAccount " + text(fields, "serviceAccountName")}
	}
	if service, called := fields["service"].(map[string]any); called {
		return []string{"Service " + text(service, "name")}
	}
	return nil
}

// there are the objects of an asset, named as by links, including the Secrets that cert-manager creates for its
// Certificates.
func there(all capi.Manifests) []string {
	names := []string{}
	for _, object := range all {
		names = append(names, describe(object))
		if secret, _, _ := unstructured.NestedString(object.Object, "spec", "secretName"); object.GetKind() == "Certificate" {
			names = append(names, "Secret "+secret)
		}
	}
	return names
}

var _ = Describe("Links to external objects", func() {
	expectNone := func(name string) {
		GinkgoHelper()
		all, followed := objects(name), 0
		for _, object := range all {
			if object.GetKind() == "CustomResourceDefinition" { // refers to kinds, not objects
				continue
			}
			for _, link := range links(object.Object) {
				Expect(there(all)).To(ContainElement(link), name+": "+describe(object))
				followed++
			}
		}
		Expect(followed).To(BeNumerically(">", 0), name)
	}

	It("there are none in the components", func() {
		expectNone(infrastructure)
		expectNone(extension)
	})

	It("there are none in templates and classes", func() {
		for _, name := range append(assets("cluster-template*.yaml"), assets("clusterclass-*.yaml")...) {
			if len(objects(name)) > 1 { // a single object is a Cluster whose class is a separate asset
				expectNone(name)
			}
		}
	})
})
