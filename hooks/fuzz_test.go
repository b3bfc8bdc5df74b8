// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"encoding/json"
	"reflect"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzCover tries to find two objects between which the answer to CanUpdateMachine leaves a difference that it
// does not name: Cluster API would replace the Machine without a word from us, or update it only half.
func FuzzCover(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"spec":{"osVersionManagement":{"osVersion":{"imageUri":"a"}}}}`, `{"spec":{"osVersionManagement":{"osVersion":{"imageUri":"b"}}}}`},
		{`{"spec":{}}`, `{"spec":{"osVersionManagement":{}}}`},
		{`{}`, `{"spec":{"osVersionManagement":null}}`},
		{`{"spec":{"osVersionManagement":{},"providerID":"a"}}`, `{"spec":{"providerID":"b"}}`},
		{`{"spec":{"a":[1]}}`, `{"spec":{"a":[1.0]}}`},
		{`{"spec":1}`, `{"spec":{}}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, before, after []byte) {
		current, err := decodeDocument("current", runtime.RawExtension{Raw: before})
		if err != nil {
			return
		}
		desired, err := decodeDocument("desired", runtime.RawExtension{Raw: after})
		if err != nil {
			return
		}
		operations, uncovered := cover(current, desired, objectSpec)
		if len(uncovered) > 0 {
			return
		}
		patched := applied(t, current, operations)
		if !reflect.DeepEqual(fields(patched.at("spec")), fields(desired.at("spec"))) {
			t.Errorf("from %s to %s the answer %v leads to %v", before, after, operations, patched)
		}
	})
}

func applied(t *testing.T, to document, operations []operation) document {
	t.Helper()
	encoded, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		t.Fatal(err)
	}
	original, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	result, err := patch.Apply(original)
	if err != nil {
		t.Fatalf("applying %s to %s: %v", encoded, original, err)
	}
	decoded, err := decodeDocument("patched", runtime.RawExtension{Raw: result})
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}
