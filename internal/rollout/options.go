// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Snapshot is the value of infrav1.RolloutOptionsAnnotation for options. Unset fields stay unset.
func Snapshot(options infrav1.NodeUpgradeOption) (string, error) {
	encoded, err := json.Marshal(options)
	if err != nil {
		return "", fmt.Errorf("encoding nodeUpgradeOption: %w", err)
	}
	return string(encoded), nil
}

// FromAnnotation reads the options of a rollout from its template. found is false if they were never
// recorded. An invalid annotation is an error and not ignored, because its replacement policy may have been Deny.
func FromAnnotation(template client.Object) (options infrav1.NodeUpgradeOption, found bool, err error) {
	value, found := template.GetAnnotations()[infrav1.RolloutOptionsAnnotation]
	if !found {
		return infrav1.NodeUpgradeOption{}, false, nil
	}
	if err := json.Unmarshal([]byte(value), &options); err != nil {
		return infrav1.NodeUpgradeOption{}, false, fmt.Errorf(
			"reading annotation %s of ElementalMachineTemplate %s: %w", infrav1.RolloutOptionsAnnotation, template.GetName(), err)
	}
	return options, true, nil
}
