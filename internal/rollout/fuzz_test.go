// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// FuzzFromAnnotation tries to find recorded options that are read as others than they are recorded again.
func FuzzFromAnnotation(f *testing.F) {
	f.Add(`{"strategy":{"mode":"manual","pauseNodes":["a"]},"maxConcurrent":2,"replacement":"Deny"}`)
	f.Add(`{"timeouts":{"reboot":"30m","drain":"0s"}}`)
	f.Add(`{"timeouts":{"reboot":"soon"}}`)
	f.Add(`[]`)
	f.Add(``)
	f.Fuzz(func(t *testing.T, value string) {
		options, found, err := read(value)
		if err != nil {
			return
		}
		recorded, err := rollout.Snapshot(options)
		if !found || err != nil {
			t.Fatalf("%q was found: %t, and cannot be recorded: %v", value, found, err)
		}
		again, _, err := read(recorded)
		if err != nil || !equality.Semantic.DeepEqual(again, options) {
			t.Errorf("%q became %q: %v", value, recorded, err)
		}
	})
}

func read(value string) (infrav1.NodeUpgradeOption, bool, error) {
	template := &infrav1.ElementalMachineTemplate{}
	template.Annotations = map[string]string{infrav1.RolloutOptionsAnnotation: value}
	return rollout.FromAnnotation(template)
}
