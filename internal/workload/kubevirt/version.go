// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"k8s.io/apimachinery/pkg/util/version"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// Versions from which KubeVirt behaves differently.
var (
	// evictsByAPI: from here on an eviction alone makes KubeVirt migrate; before, the taint did it.
	evictsByAPI = version.MustParseGeneric("1.0.0")
	// cancelsEvacuation: from here on the mark of an eviction may be taken back (evacuate-cancel).
	cancelsEvacuation = version.MustParseGeneric("1.7.0")
)

// isAtLeast reports whether the KubeVirt that runs is of a version or later. One that does not say is taken to be.
func isAtLeast(kubeVirt *kubevirtv1.KubeVirt, wanted *version.Version) bool {
	if kubeVirt == nil {
		return true
	}
	observed, err := version.ParseGeneric(kubeVirt.Status.ObservedKubeVirtVersion)
	return err != nil || observed.AtLeast(wanted)
}
