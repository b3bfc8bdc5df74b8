// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// coveredField is the one field, below an ElementalMachine's spec, that is changed in place.
const coveredField = "osVersionManagement"

// Roots that Cluster API compares below.
var (
	objectSpec   = []string{"spec"}
	templateSpec = []string{"spec", "template", "spec"}
)

// document is an object of a request. Numbers are kept in their original form, so that values that differ for
// Cluster API are never considered equal here.
type document map[string]any

func decodeDocument(what string, raw runtime.RawExtension) (document, error) {
	if len(raw.Raw) == 0 {
		return nil, fmt.Errorf("reading %s: the request has none", what)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw.Raw))
	decoder.UseNumber()
	decoded := document{}
	if err := decoder.Decode(&decoded); err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	return decoded, nil
}

func toDocument(object any) (document, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", object, err)
	}
	return decodeDocument(fmt.Sprintf("%T", object), runtime.RawExtension{Raw: encoded})
}

func (d document) text(path ...string) string {
	text, _ := d.at(path...).(string)
	return text
}

// at returns the value at a path, or nil.
func (d document) at(path ...string) any {
	var value any = map[string]any(d)
	for _, key := range path {
		fields, isObject := value.(map[string]any)
		if !isObject {
			return nil
		}
		value = fields[key]
	}
	return value
}

// operation of a JSON patch (RFC 6902).
type operation struct {
	Op   string `json:"op"`
	Path string `json:"path"`
	// Value is encoded for a removal too, for which the RFC ignores it.
	Value any `json:"value"`
}

// cover returns the operations that bring the covered field of current to that of desired, and the paths
// of the fields below root that still differ.
func cover(current, desired document, root []string) (operations []operation, uncovered []string) {
	whole := strings.Join(root, ".")
	if desired.at(root...) == nil && current.at(root...) != nil {
		return nil, []string{whole} // Cluster API does not apply a removal of the root.
	}
	if desired.at(root...) != nil {
		operations = missingParents(current, root)
	}
	was, is := fields(current.at(root...)), fields(desired.at(root...))
	before, wasSet := was[coveredField]
	after, isSet := is[coveredField]
	pointer := "/" + strings.Join(append(slices.Clone(root), coveredField), "/")
	switch {
	case isSet && (!wasSet || !reflect.DeepEqual(before, after)):
		operations = append(operations, operation{Op: "add", Path: pointer, Value: after})
	case wasSet && !isSet:
		operations = append(operations, operation{Op: "remove", Path: pointer})
	}
	delete(was, coveredField)
	delete(is, coveredField)
	return operations, differences(whole, was, is)
}

// fields copies the top level of an object, so that a key can be taken out of it.
func fields(value any) map[string]any {
	object, _ := value.(map[string]any)
	if object == nil {
		return map[string]any{}
	}
	return maps.Clone(object)
}

// missingParents adds the objects above the covered field that an empty spec is encoded without.
func missingParents(current document, root []string) []operation {
	operations := []operation{}
	for i := range root {
		if current.at(root[:i+1]...) == nil {
			operations = append(operations, operation{Op: "add", Path: "/" + strings.Join(root[:i+1], "/"), Value: map[string]any{}})
		}
	}
	return operations
}

// differences returns the paths at which two values differ, sorted. Lists are compared as a whole.
func differences(path string, a, b any) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	left, leftIsObject := a.(map[string]any)
	right, rightIsObject := b.(map[string]any)
	if !leftIsObject || !rightIsObject {
		return []string{path}
	}
	keys := map[string]struct{}{}
	for key := range left {
		keys[key] = struct{}{}
	}
	for key := range right {
		keys[key] = struct{}{}
	}
	paths := []string{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		inLeft, inRight := has(left, key), has(right, key)
		if inLeft != inRight {
			paths = append(paths, path+"."+key)
			continue
		}
		paths = append(paths, differences(path+"."+key, left[key], right[key])...)
	}
	return paths
}

func has(object map[string]any, key string) bool {
	_, found := object[key]
	return found
}

// asPatch encodes operations; without any it returns an empty patch.
func asPatch(operations []operation) (runtimehooksv1.Patch, error) {
	if len(operations) == 0 {
		return runtimehooksv1.Patch{}, nil
	}
	encoded, err := json.Marshal(operations)
	if err != nil {
		return runtimehooksv1.Patch{}, fmt.Errorf("encoding the patch: %w", err)
	}
	return runtimehooksv1.Patch{PatchType: runtimehooksv1.JSONPatchType, Patch: encoded}, nil
}
