// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Changed lets an update pass if what is seen of the object is not semantically equal to what was seen before. All
// creations and deletions pass, and so do objects of another type than T: a reconcile too many does no harm, and one that
// is missing may never be made up for.
func Changed[T client.Object](seen func(T) any) predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, wasOne := e.ObjectOld.(T)
		after, isOne := e.ObjectNew.(T)
		return !wasOne || !isOne || !equality.Semantic.DeepEqual(seen(before), seen(after))
	}}
}

// PausedCondition is what is seen of an object's Paused condition. Our own write of it ends a reconcile, which goes on with
// the event of that write: a predicate that leaves it out stops the object.
func PausedCondition(object conditions.Getter) [2]string {
	paused := conditions.Get(object, clusterv1.PausedCondition)
	if paused == nil {
		return [2]string{}
	}
	return [2]string{string(paused.Status), paused.Message}
}

// MetadataOf is the metadata that controllers and users write.
func MetadataOf(object client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Labels: object.GetLabels(), Annotations: object.GetAnnotations(), Finalizers: object.GetFinalizers(),
		OwnerReferences: object.GetOwnerReferences(), DeletionTimestamp: object.GetDeletionTimestamp(),
	}
}

// Without is a copy of labels or annotations that lacks some keys: those that are not looked at.
func Without(values map[string]string, keys ...string) map[string]string {
	left := maps.Clone(values)
	for _, key := range keys {
		delete(left, key)
	}
	return left
}
