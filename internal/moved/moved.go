// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package moved

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
)

// Away reports whether an object was moved to another management cluster. clusterctl annotates it before it deletes it. The pause
// of the Cluster is not sufficient, because objects without owners are deleted in any order, so the Cluster may be gone by then.
// Source: clusterctl's object mover, deleteSourceObject.
func Away(object metav1.Object) bool {
	_, away := object.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]
	return away
}
