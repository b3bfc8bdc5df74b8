// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Job is an object of the workload cluster that something is being done for.
type Job struct {
	// Object as "VolumeSnapshot/default/daily".
	Object string
	// Doing says what, as "a snapshot is being taken".
	Doing string
	// Nodes that it is done on, each by its name or its label kubernetes.io/hostname; empty where that is not known.
	Nodes []string
}

// Concerns reports whether the Job may be done on the Node.
func (j Job) Concerns(node *corev1.Node) bool {
	return len(j.Nodes) == 0 || slices.Contains(j.Nodes, node.Name) || slices.Contains(j.Nodes, node.Labels[corev1.LabelHostname])
}

// JobKind is a kind of which each object is a Job until it is done.
type JobKind struct {
	Kind schema.GroupKind
	// Doing is that of its Jobs.
	Doing string
	// IsDone reports whether it is done, or has failed for good.
	IsDone func(object map[string]any) bool
	// NodesOf are those that one is done on. Default: not known.
	NodesOf func(object *unstructured.Unstructured) []string
}

func (k JobKind) job(object *unstructured.Unstructured) Job {
	job := Job{Object: describe(object), Doing: k.Doing}
	if k.NodesOf != nil {
		job.Nodes = k.NodesOf(object)
	}
	return job
}

// Unfinished are the Jobs of kinds, each of which the cluster may lack.
func Unfinished(ctx context.Context, in Reading, kinds ...JobKind) ([]Job, error) {
	found := []Job{}
	for _, of := range kinds {
		objects, _, err := Objects(ctx, in, of.Kind)
		if err != nil {
			return nil, err
		}
		for i := range objects {
			if objects[i].GetDeletionTimestamp().IsZero() && !of.IsDone(objects[i].Object) {
				found = append(found, of.job(&objects[i]))
			}
		}
	}
	return found, nil
}

func describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + "/" + object.GetName()
	}
	return object.GetKind() + "/" + object.GetNamespace() + "/" + object.GetName()
}

// IsReadyToUse says of a snapshot whether it is done: it can be used, or has failed.
func IsReadyToUse(object map[string]any) bool {
	ready, _, _ := unstructured.NestedBool(object, "status", "readyToUse")
	failure, _, _ := unstructured.NestedMap(object, "status", "error")
	return ready || len(failure) > 0
}

// IsComplete says of a restore whether it is done.
func IsComplete(object map[string]any) bool {
	complete, _, _ := unstructured.NestedBool(object, "status", "complete")
	return complete || HasCondition(object, "Failure", "True")
}

// HasCondition reports whether an object has a condition with a status.
func HasCondition(object map[string]any, kind, status string) bool {
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == kind && condition["status"] == status
	})
}
