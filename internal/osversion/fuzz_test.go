// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osversion_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// FuzzDecode tries to find an OS version whose meaning depends on how it is written.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"imageUri":"oci://registry.example.com/os:1","debug":true}`))
	f.Add([]byte(`{ "upgradeRecovery": true, "imageUri": "" }`))
	f.Add([]byte(`{"imageUri":1}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // the API server stores JSON alone
		}
		written := specs.OS(string(raw))
		spaced := bytes.Buffer{}
		if err := json.Indent(&spaced, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		version, err := osversion.Decode(written)
		rewritten := specs.OS(spaced.String())
		again, errAgain := osversion.Decode(rewritten)
		if !reflect.DeepEqual(again, version) || (err == nil) != (errAgain == nil) || !osversion.Same(written, rewritten) {
			t.Errorf("%q means something else with white space", raw)
		}
		encoded, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		stored := infrav1.OSVersionManagement{}
		if err := json.Unmarshal(encoded, &stored); err != nil || !osversion.Same(written, stored) {
			t.Errorf("%q means something else once it is stored as %s: %v", raw, encoded, err)
		}
	})
}
