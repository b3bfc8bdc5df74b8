// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osversion_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// FuzzDecode tries to find an OS version whose meaning depends on how it is written.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"imageUri":"oci://registry.example.com/os:1","debug":true}`))
	f.Add([]byte(`{ "upgradeRecovery": true, "imageUri": "" }`))
	f.Add([]byte(`{"imageUri":1}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		written := infrav1.OSVersionManagement{infrav1.OSVersionKey: runtime.RawExtension{Raw: raw}}
		version, err := osversion.Decode(written)
		if !json.Valid(raw) {
			if err == nil && len(raw) > 0 {
				t.Errorf("decoded %q, which is no JSON", raw)
			}
			return
		}
		spaced := bytes.Buffer{}
		if err := json.Indent(&spaced, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		rewritten := infrav1.OSVersionManagement{infrav1.OSVersionKey: runtime.RawExtension{Raw: spaced.Bytes()}}
		again, errAgain := osversion.Decode(rewritten)
		if again != version || (err == nil) != (errAgain == nil) || !osversion.Same(written, rewritten) {
			t.Errorf("%q means something else with white space", raw)
		}
	})
}
