// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// FuzzDecodeVersion tries to find an order of the Elemental API that is neither understood nor refused with a word
// to the operator.
func FuzzDecodeVersion(f *testing.F) {
	f.Add([]byte(`{"imageUri":"oci://registry.example.com/os:1"}`))
	f.Add([]byte(`{"imageUri":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		want := &wire.Upgrade{OSVersionManagement: map[string]json.RawMessage{osVersionKey: raw}}
		if _, err := decodeVersion(want); err == nil && !json.Valid(raw) {
			t.Errorf("understood %q", raw)
		}
	})
}

// FuzzMarker tries to find a marker, torn by a power cut or edited, that changes when the agent writes it again.
func FuzzMarker(f *testing.F) {
	f.Add([]byte(`{"attempt":"a-1","phase":"Applying","digest":"sha256:aa"}`))
	f.Add([]byte(`{"attempt":"a-1","pha`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "upgrade.json")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		marker := Marker{}
		found, err := system.ReadJSON(path, &marker)
		if err != nil {
			return
		}
		if !found {
			t.Fatalf("%q is there and was not found", content)
		}
		encoded, err := json.Marshal(marker)
		if err != nil {
			t.Fatal(err)
		}
		again := Marker{}
		if err := json.Unmarshal(encoded, &again); err != nil {
			t.Fatal(err)
		}
		if rewritten, err := json.Marshal(again); err != nil || !bytes.Equal(rewritten, encoded) {
			t.Errorf("%q became %s, then %s: %v", content, encoded, rewritten, err)
		}
	})
}
