// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"encoding/json"
	"testing"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// FuzzQuarantine tries to find an annotation that was edited by hand, cannot be read, and lets the digest pass.
func FuzzQuarantine(f *testing.F) {
	const digest = "sha256:aa"
	f.Add(`{"sha256:aa":"m-1"}`)
	f.Add(`{"sha256:aa":1}`)
	f.Add(`["sha256:aa"]`)
	f.Add(`{"sha256:aa":"m-1"`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, value string) {
		cluster := &infrav1.ElementalCluster{}
		cluster.Annotations = map[string]string{infrav1.QuarantineAnnotation: value}
		_, quarantined, err := QuarantinedBy(cluster, digest)
		object := map[string]any{}
		readable := value == "" || json.Unmarshal([]byte(value), &object) == nil
		if !readable && err == nil {
			t.Errorf("%q is read as no quarantine", value)
		}
		if _, named := object[digest]; named && !quarantined && err == nil {
			t.Errorf("%q lets %s pass", value, digest)
		}
	})
}
