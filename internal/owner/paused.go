// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// PausedFor is the template for whose rollout this provider has paused an owner, or empty.
func PausedFor(of Owner) string {
	template, isOurs := strings.CutPrefix(of.Object().GetAnnotations()[clusterv1.PausedAnnotation], infrav1.RolloutHoldPrefix)
	if !isOurs {
		return ""
	}
	return template
}

// IsPausedByOthers reports whether an owner is paused by anyone but this provider.
func IsPausedByOthers(of Owner) bool {
	return annotations.HasPaused(of.Object()) && PausedFor(of) == ""
}
