// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagerules

import (
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Governing are the rules for what a host is to fetch: the cluster's as they are now or, where it has none, those that the host has, which the
// machine controller keeps. What a person takes trust away from must not be sent because it was asked for before. Nil if there are none; the
// cluster may be nil.
func Governing(cluster *infrav1.ElementalCluster, host *infrav1.ElementalHost) *infrav1.ImageVerification {
	if cluster != nil && cluster.Spec.ImageVerification != nil {
		return cluster.Spec.ImageVerification.DeepCopy()
	}
	return host.Spec.ImageVerification.DeepCopy()
}
