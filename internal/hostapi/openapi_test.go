// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// document is the part of OpenAPI 3 that openapi.yaml uses.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas   map[string]schema          `json:"schemas"`
		Responses map[string]json.RawMessage `json:"responses"`
	} `json:"components"`
}

type operation struct {
	ID          string                     `json:"operationId"`
	Security    []map[string][]string      `json:"security"`
	RequestBody json.RawMessage            `json:"requestBody"`
	Responses   map[string]json.RawMessage `json:"responses"`
}

type schema struct {
	Type                 string            `json:"type"`
	Ref                  string            `json:"$ref"`
	Required             []string          `json:"required"`
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties any               `json:"additionalProperties"`
	Items                *schema           `json:"items"`
	Enum                 []string          `json:"enum"`
}

var methods = []string{"get", "post", "patch", "put", "delete"}

var _ = Describe("openapi.yaml", func() {
	var described document

	BeforeEach(func() {
		content, err := os.ReadFile("openapi.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.Unmarshal(content, &described)).To(Succeed())
	})

	operations := func() map[string]operation {
		GinkgoHelper()
		found := map[string]operation{}
		for path, item := range described.Paths {
			for method, raw := range item {
				if slices.Contains(methods, method) {
					one := operation{}
					Expect(json.Unmarshal(raw, &one)).To(Succeed())
					found[strings.ToUpper(method)+" "+path] = one
				}
			}
		}
		return found
	}

	It("describes the routes that there are", func() {
		names := map[string]string{}
		for route, one := range operations() {
			names[route] = one.ID
		}
		Expect(names).To(Equal(hostapi.Operations()))
	})

	It("says which tokens a route wants, as the server does", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		for route, one := range operations() {
			if one.ID == "patchHost" {
				continue
			}
			method, path, _ := strings.Cut(route, " ")
			path = strings.NewReplacer("{namespace}", endpoint.Namespace, "{registration}", endpoint.Name, "{host}", "m-1").Replace(path)
			refused := request(ctx, shared, method, api.Endpoint+path, nil)
			Expect(refused.status).To(Equal(401), route)
			_, registration := one.Security[0]["registrationToken"]
			if registration {
				Expect(refused.message()).To(ContainSubstring("registration token is missing"), route)
			} else {
				Expect(refused.message()).To(ContainSubstring("host token is missing"), route)
			}
			Expect(one.Responses).To(HaveKey("401"), route)
		}
	})

	It("has no schema but those of the wire, and all of those", func() {
		schemas := described.Components.Schemas
		Expect(schemas).To(HaveLen(len(wireTypes)))
		for name, value := range wireTypes {
			Expect(schemas).To(HaveKey(name))
			compare(name, schemas[name], reflect.TypeOf(value))
		}
	})

	It("closes a registration, of which the server refuses unknown fields, and not a report", func() {
		Expect(described.Components.Schemas["HostCreate"].AdditionalProperties).To(BeFalse())
		for _, name := range []string{"Report", "Address", "OS", "Attempt", "Check", "Progress"} {
			Expect(described.Components.Schemas[name].AdditionalProperties).To(BeNil(), name)
		}
	})

	It("lists the values that the server takes", func() {
		schemas := described.Components.Schemas
		Expect(schemas["Report"].Properties["phase"].Enum).To(ConsistOf(hostapi.HostPhases))
		Expect(schemas["Attempt"].Properties["phase"].Enum).To(ConsistOf(hostapi.AttemptPhases))
		Expect(schemas["Address"].Properties["type"].Enum).To(ConsistOf(hostapi.AddressTypes))
		Expect(schemas["OS"].Properties["bootMode"].Enum).To(ConsistOf(hostapi.BootModes))
	})
})

// wireTypes are the types of internal/wire that travel, by the name of their schema.
var wireTypes = map[string]any{
	"Registration": wire.Registration{}, "HostCreate": wire.HostCreate{}, "Desired": wire.Desired{}, "Upgrade": wire.Upgrade{}, "Boot": wire.Boot{},
	"Report": wire.Report{}, "Address": wire.Address{}, "OS": wire.OS{}, "Attempt": wire.Attempt{}, "Check": wire.Check{}, "Progress": wire.Progress{},
	"ImageVerification": wire.ImageVerification{}, "ImageVerificationRule": wire.ImageVerificationRule{}, "ImageIdentity": wire.ImageIdentity{},
	"Bootstrap": wire.Bootstrap{}, "Reset": wire.Reset{}, "Authorities": wire.Authorities{}, "Error": wire.Error{},
}

// compare checks names, requiredness and kinds of the fields of a type.
func compare(name string, described schema, of reflect.Type) {
	GinkgoHelper()
	var names, required []string
	for field := range of.Fields() {
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, tag)
		if !strings.Contains(options, "omit") {
			required = append(required, tag)
		}
		Expect(described.Properties).To(HaveKey(tag), name)
		Expect(kindOf(described.Properties[tag])).To(Equal(kindIn(field.Type)), "%s.%s", name, tag)
	}
	Expect(described.Properties).To(HaveLen(len(names)), name)
	Expect(described.Required).To(ConsistOf(required), name)
}

func kindOf(property schema) string {
	switch {
	case property.Ref != "":
		return strings.TrimPrefix(property.Ref, "#/components/schemas/")
	case property.Items != nil:
		return "array of " + kindOf(*property.Items)
	case property.Type == "":
		return "any"
	default:
		return property.Type
	}
}

func kindIn(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer:
		return kindIn(of.Elem())
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return "string"
		}
		return of.Name()
	case reflect.Slice:
		if of == reflect.TypeFor[json.RawMessage]() {
			return "any"
		}
		return "array of " + kindIn(of.Elem())
	case reflect.Map:
		return "object"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	default:
		return of.Kind().String()
	}
}
