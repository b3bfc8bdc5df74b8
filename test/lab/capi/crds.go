// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const establishPoll = 100 * time.Millisecond

// AwaitEstablished waits until the API server serves all CRDs.
func AwaitEstablished(ctx context.Context, kube client.Client, crds Manifests) error {
	for _, crd := range crds {
		err := wait.PollUntilContextCancel(ctx, establishPoll, true, func(ctx context.Context) (bool, error) {
			return established(ctx, kube, crd.GetName())
		})
		if err == nil {
			err = wait.PollUntilContextCancel(ctx, establishPoll, true, func(context.Context) (bool, error) { return discovered(kube, crd) })
		}
		if err != nil {
			return fmt.Errorf("waiting for CRD %s to be established: %w", crd.GetName(), err)
		}
	}
	return nil
}

// discovered reports whether the API server has told of the kind of a CRD, which it may do some time after it is established.
func discovered(kube client.Client, crd *unstructured.Unstructured) (bool, error) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	_, err := kube.RESTMapper().RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

func established(ctx context.Context, kube client.Client, name string) (bool, error) {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: kindCRD})
	if err := kube.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return hasCondition(crd, "Established"), nil
}

// hasCondition reports whether a condition of an object is True.
func hasCondition(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, isMap := entry.(map[string]any)
		if isMap && condition["type"] == kind && condition["status"] == "True" {
			return true
		}
	}
	return false
}

// callAs gives an existing CRD the conversion of another, and an existing webhook configuration its webhooks, and keeps
// cert-manager from reverting them.
func callAs(ctx context.Context, kube client.Client, object *unstructured.Unstructured) error {
	var change map[string]any
	switch object.GetKind() {
	case kindValidating, kindMutating:
		change = map[string]any{"webhooks": object.Object["webhooks"]}
	case kindCRD:
		conversion, found, err := conversionOf(object)
		if err != nil || !found {
			return err
		}
		change = map[string]any{"spec": map[string]any{"conversion": conversion}}
	default:
		return nil
	}
	change["metadata"] = map[string]any{"annotations": map[string]any{InjectsFrom: nil}}
	patch, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encoding a change of what is called: %w", err)
	}
	return kube.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
}

// conversionOf is the conversion of a CRD, as a merge patch.
func conversionOf(crd *unstructured.Unstructured) (conversion map[string]any, found bool, err error) {
	conversion, found, err = unstructured.NestedMap(crd.Object, "spec", "conversion")
	if err != nil || !found {
		return nil, false, err
	}
	if config, isMap, _ := unstructured.NestedMap(conversion, "webhook", "clientConfig"); isMap {
		config["service"] = nil // a merge patch would otherwise keep it besides the URL
		err = unstructured.SetNestedField(conversion, config, "webhook", "clientConfig")
	}
	return conversion, true, err
}
