// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SetCluster has a Cluster own an object, by which both are moved, and deleted, together. It reports whether that was missing, as after Velero has restored
// the object.
func SetCluster(object client.Object, cluster *clusterv1.Cluster) bool {
	reference := metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID}
	if util.HasExactOwnerRef(object.GetOwnerReferences(), reference) {
		return false
	}
	object.SetOwnerReferences(util.EnsureOwnerRef(object.GetOwnerReferences(), reference))
	return true
}
