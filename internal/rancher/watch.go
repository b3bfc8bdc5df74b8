// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Changed passes the plan secrets whose drain has changed. They are written every few seconds, when the agent of Rancher reports.
func Changed() predicate.TypedFuncs[*metav1.PartialObjectMetadata] {
	return predicate.TypedFuncs[*metav1.PartialObjectMetadata]{
		CreateFunc: func(e event.TypedCreateEvent[*metav1.PartialObjectMetadata]) bool {
			return len(protocolOf(e.Object)) > 0
		},
		UpdateFunc: func(e event.TypedUpdateEvent[*metav1.PartialObjectMetadata]) bool {
			return !maps.Equal(protocolOf(e.ObjectOld), protocolOf(e.ObjectNew))
		},
		DeleteFunc: func(event.TypedDeleteEvent[*metav1.PartialObjectMetadata]) bool { return false },
	}
}

// protocolOf are the annotations of a plan secret by which the two sides speak.
func protocolOf(secret *metav1.PartialObjectMetadata) map[string]string {
	found := map[string]string{}
	for key, value := range secret.Annotations {
		switch key {
		case DrainOptionsAnnotation, PreDrainAnnotation, DrainDoneAnnotation, UncordonAnnotation, PostDrainAnnotation, DrainErrorAnnotation,
			infrav1.RancherPreDrainAnnotation, infrav1.RancherPostDrainAnnotation:
			found[key] = value
		}
	}
	return found
}
