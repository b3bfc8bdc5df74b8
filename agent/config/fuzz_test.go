// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
)

// FuzzDecode tries to find a configuration that is accepted from the Elemental API and is another, or none, after
// the agent has restarted.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"registration":{"uri":"https://elemental.example.com/elemental/v1/namespaces/a/registrations/b","token":"t"}}`))
	f.Add([]byte(`{"registration":{"uri":"https://example.com"},"agent":{"reconciliation":"10s","hostname":{"prefix":"m-"}}}`))
	f.Add([]byte(`{"agent":{"reconciliation":"soon"}}`))
	f.Add([]byte(`{"registration":{"uri":"http://[::1"}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		decoded, err := config.Decode(raw)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := config.Save(path, decoded); err != nil {
			t.Fatalf("saving %s: %v", raw, err)
		}
		loaded, err := config.Load(path)
		if err != nil || !reflect.DeepEqual(loaded, decoded) {
			t.Errorf("%s became %+v, want %+v: %v", raw, loaded, decoded, err)
		}
	})
}
