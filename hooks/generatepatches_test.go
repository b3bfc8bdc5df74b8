// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"encoding/json"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
)

// variable has a value in JSON.
func variable(name, value string) runtimehooksv1.Variable {
	v := runtimehooksv1.Variable{Name: name}
	v.Value.Raw = []byte(value)
	return v
}

func item(uid string, template map[string]any, variables ...runtimehooksv1.Variable) runtimehooksv1.GeneratePatchesRequestItem {
	return runtimehooksv1.GeneratePatchesRequestItem{UID: types.UID(uid), Object: raw(template), Variables: variables}
}

// patchedSpecs are spec.template.spec of the templates of a request, patched as Cluster API does, by UID.
func patchedSpecs(request *runtimehooksv1.GeneratePatchesRequest, response *runtimehooksv1.GeneratePatchesResponse) map[string]any {
	GinkgoHelper()
	originals := map[types.UID][]byte{}
	for i := range request.Items {
		originals[request.Items[i].UID] = request.Items[i].Object.Raw
	}
	specs := map[string]any{}
	for _, answered := range response.Items {
		Expect(originals).To(HaveKey(answered.UID))
		Expect(answered.PatchType).To(Equal(runtimehooksv1.JSONMergePatchType))
		patched, err := jsonpatch.MergePatch(originals[answered.UID], answered.Patch)
		Expect(err).NotTo(HaveOccurred())
		decoded := map[string]any{}
		Expect(json.Unmarshal(patched, &decoded)).To(Succeed())
		spec, _ := decoded["spec"].(map[string]any)
		template, _ := spec["template"].(map[string]any)
		specs[string(answered.UID)] = template["spec"]
	}
	return specs
}

var _ = Describe("The variable of a ClusterClass", func() {
	const image = "oci://registry/os:2"

	generate := func(request *runtimehooksv1.GeneratePatchesRequest) *runtimehooksv1.GeneratePatchesResponse {
		handlers, _ := newHandlers()
		response := &runtimehooksv1.GeneratePatchesResponse{}
		handlers.GeneratePatches(ctx, request, response)
		return response
	}

	It("is discovered under the name that patches read, as an optional string", func() {
		handlers, _ := newHandlers()
		response := &runtimehooksv1.DiscoverVariablesResponse{}
		handlers.DiscoverVariables(ctx, &runtimehooksv1.DiscoverVariablesRequest{}, response)
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess))
		Expect(response.Variables).To(ConsistOf(And(
			HaveField("Name", inplace.OSImageVariable),
			HaveField("Required", HaveValue(BeFalse())),
			HaveField("Schema.OpenAPIV3Schema.Type", "string"),
		)))
	})

	It("sets the image in every ElementalMachineTemplate, and keeps what else is in it", func() {
		foreign := templateObject("other", map[string]any{"size": "s"})
		foreign["kind"] = "OtherMachineTemplate"
		request := &runtimehooksv1.GeneratePatchesRequest{
			Variables: []runtimehooksv1.Variable{variable("builtin", `{"cluster":{"name":"c"}}`), variable(inplace.OSImageVariable, `"`+image+`"`)},
			Items: []runtimehooksv1.GeneratePatchesRequestItem{
				item("full", templateObject("full", map[string]any{
					"selector": map[string]any{"matchLabels": map[string]any{"rack": "r1"}},
					"osVersionManagement": map[string]any{
						"osVersion": map[string]any{"imageUri": "oci://registry/os:1", "upgradeRecovery": true},
						"firmware":  "7",
					},
				})),
				item("bare", templateObject("bare", nil)),
				item("foreign", foreign),
			},
		}
		Expect(patchedSpecs(request, generate(request))).To(Equal(map[string]any{
			"full": map[string]any{
				"selector": map[string]any{"matchLabels": map[string]any{"rack": "r1"}},
				"osVersionManagement": map[string]any{
					"osVersion": map[string]any{"imageURI": image, "upgradeRecovery": true},
					"firmware":  "7",
				},
			},
			"bare": map[string]any{"osVersionManagement": osOf(image)},
		}))
	})

	It("takes the place of a ManagedOSVersion, beside which it would not count", func() {
		request := &runtimehooksv1.GeneratePatchesRequest{
			Variables: []runtimehooksv1.Variable{variable(inplace.OSImageVariable, `"`+image+`"`)},
			Items: []runtimehooksv1.GeneratePatchesRequestItem{item("a", templateObject("a", map[string]any{
				"osVersionManagement": map[string]any{"osVersion": map[string]any{
					"managedOSVersionName": "v1", "resolvedFrom": "v0", "imageUri": "oci://registry/os:0", "debug": true,
				}},
			}))},
		}
		Expect(patchedSpecs(request, generate(request))).To(HaveKeyWithValue("a", map[string]any{
			"osVersionManagement": map[string]any{"osVersion": map[string]any{"imageURI": image, "debug": true}},
		}))
	})

	It("can be overridden for some of the machines", func() {
		request := &runtimehooksv1.GeneratePatchesRequest{
			Variables: []runtimehooksv1.Variable{variable(inplace.OSImageVariable, `"`+image+`"`)},
			Items: []runtimehooksv1.GeneratePatchesRequestItem{
				item("a", templateObject("a", map[string]any{})),
				item("b", templateObject("b", map[string]any{}), variable(inplace.OSImageVariable, `"oci://registry/os:3?a=1&b=<2>"`)),
			},
		}
		Expect(patchedSpecs(request, generate(request))).To(Equal(map[string]any{
			"a": map[string]any{"osVersionManagement": osOf(image)},
			"b": map[string]any{"osVersionManagement": osOf("oci://registry/os:3?a=1&b=<2>")},
		}))
	})

	It("changes nothing while it is not set", func() {
		request := &runtimehooksv1.GeneratePatchesRequest{
			Items: []runtimehooksv1.GeneratePatchesRequestItem{item("a", templateObject("a", map[string]any{"osVersionManagement": osOf("x")}))},
		}
		response := generate(request)
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusSuccess))
		Expect(response.Items).To(BeEmpty())
	})

	DescribeTable("fails for what makes no sense, naming it", func(mutate func(*runtimehooksv1.GeneratePatchesRequest), message string) {
		request := &runtimehooksv1.GeneratePatchesRequest{
			Variables: []runtimehooksv1.Variable{variable(inplace.OSImageVariable, `"`+image+`"`)},
			Items:     []runtimehooksv1.GeneratePatchesRequestItem{item("a", templateObject("a", nil)), item("b", templateObject("b", nil))},
		}
		mutate(request)
		response := generate(request)
		Expect(response.Status).To(Equal(runtimehooksv1.ResponseStatusFailure))
		Expect(response.Message).To(ContainSubstring(message))
		Expect(response.Items).To(BeEmpty())
	},
		Entry("a variable of another type", func(r *runtimehooksv1.GeneratePatchesRequest) {
			r.Items[1].Variables = []runtimehooksv1.Variable{variable(inplace.OSImageVariable, `7`)}
		}, "ElementalMachineTemplate b: elementalOSImage has to be a string"),
		Entry("a template that is missing", func(r *runtimehooksv1.GeneratePatchesRequest) { r.Items[1].Object.Raw = nil }, "a template"),
	)
})
