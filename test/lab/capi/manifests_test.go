// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi_test

import (
	"encoding/base64"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

const kustomized = `
apiVersion: v1
kind: Namespace
metadata: {name: capi-system}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: converted}
spec:
  conversion:
    strategy: Webhook
    webhook:
      clientConfig:
        service: {name: webhook-service, namespace: capi-system, path: /convert}
      conversionReviewVersions: [v1]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plain}
spec: {group: example.com}
---
# a comment makes no object
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating}
webhooks:
- name: one
  clientConfig:
    service: {name: webhook-service, namespace: capi-system, path: /validate-one}
- name: two
  clientConfig:
    service: {name: webhook-service, namespace: capi-system, path: /validate-two}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
- name: default
  clientConfig:
    caBundle: Zm9ybWVy
    service: {name: webhook-service, namespace: capi-system, path: /mutate}
`

func parse() capi.Manifests {
	GinkgoHelper()
	manifests, err := capi.Parse([]byte(kustomized))
	Expect(err).NotTo(HaveOccurred())
	return manifests
}

func names(manifests capi.Manifests) []string {
	found := []string{}
	for _, object := range manifests {
		found = append(found, object.GetName())
	}
	return found
}

func named(manifests capi.Manifests, name string) *unstructured.Unstructured {
	GinkgoHelper()
	for _, object := range manifests {
		if object.GetName() == name {
			return object
		}
	}
	Fail("no object is named " + name)
	return nil
}

var _ = Describe("Manifests", func() {
	It("are grouped by when they may be created", func() {
		manifests := parse()
		Expect(names(manifests)).To(Equal([]string{"capi-system", "converted", "plain", "validating", "mutating"}))
		Expect(names(manifests.CRDs())).To(Equal([]string{"converted", "plain"}))
		Expect(names(manifests.Webhooks())).To(Equal([]string{"validating", "mutating"}))
		Expect(names(manifests)).To(HaveLen(5), "choosing some takes none away")
	})

	It("that are missing are an error that says how to build them", func() {
		_, err := capi.Load("/nonexistent/core.yaml")
		Expect(err).To(MatchError(And(ContainSubstring("make tools manifests"), ContainSubstring("/nonexistent/core.yaml"))))
	})

	It("refer to loopback instead of Services, each to its own path", func() {
		manifests := parse()
		Expect(manifests.OnLoopback(9443, []byte("authority"))).To(Succeed())
		bundle := base64.StdEncoding.EncodeToString([]byte("authority"))
		at := func(path string) map[string]any {
			return map[string]any{"url": "https://127.0.0.1:9443" + path, "caBundle": bundle}
		}

		conversion, _, err := unstructured.NestedMap(named(manifests, "converted").Object, "spec", "conversion", "webhook")
		Expect(err).NotTo(HaveOccurred())
		Expect(conversion).To(Equal(map[string]any{"clientConfig": at("/convert"), "conversionReviewVersions": []any{"v1"}}))
		Expect(named(manifests, "plain").Object["spec"]).To(Equal(map[string]any{"group": "example.com"}))
		Expect(named(manifests, "validating").Object["webhooks"]).To(Equal([]any{
			map[string]any{"name": "one", "clientConfig": at("/validate-one")},
			map[string]any{"name": "two", "clientConfig": at("/validate-two")},
		}))
		Expect(named(manifests, "mutating").Object["webhooks"]).To(Equal([]any{
			map[string]any{"name": "default", "clientConfig": at("/mutate")},
		}))
	})
})
