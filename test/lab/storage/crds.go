// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/served"
)

// The kinds that Install installs, all of them namespaced.
var (
	Volume                = schema.GroupVersionKind{Group: "longhorn.io", Version: "v1beta2", Kind: "Volume"}
	Replica               = schema.GroupVersionKind{Group: "longhorn.io", Version: "v1beta2", Kind: "Replica"}
	Engine                = schema.GroupVersionKind{Group: "longhorn.io", Version: "v1beta2", Kind: "Engine"}
	Setting               = schema.GroupVersionKind{Group: "longhorn.io", Version: "v1beta2", Kind: "Setting"}
	Node                  = schema.GroupVersionKind{Group: "longhorn.io", Version: "v1beta2", Kind: "Node"}
	VolumeSnapshot        = schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"}
	VirtualMachineBackup  = schema.GroupVersionKind{Group: "harvesterhci.io", Version: "v1beta1", Kind: "VirtualMachineBackup"}
	VirtualMachineRestore = schema.GroupVersionKind{Group: "harvesterhci.io", Version: "v1beta1", Kind: "VirtualMachineRestore"}
)

// LonghornKinds are Longhorn's among them.
func LonghornKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{Volume, Replica, Engine, Setting, Node}
}

// Kinds are all of them.
func Kinds() []schema.GroupVersionKind {
	return append(LonghornKinds(), VolumeSnapshot, VirtualMachineBackup, VirtualMachineRestore)
}

var definition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// Namespace of Longhorn.
const Namespace = "longhorn-system"

// poll is the interval at which it checks whether the API server serves a kind.
const poll = 50 * time.Millisecond

// Install makes the API server serve the kinds, all of them if none are given, and creates Longhorn's namespace.
// Existing objects are kept.
func Install(ctx context.Context, kube client.Client, kinds ...schema.GroupVersionKind) error {
	if len(kinds) == 0 {
		kinds = Kinds()
	}
	for _, kind := range kinds {
		if err := kube.Create(ctx, newDefinition(kind)); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the definition of %s: %w", kind, err)
		}
	}
	for _, kind := range kinds {
		if err := awaitServed(ctx, kube, kind); err != nil {
			return err
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := kube.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Namespace %s: %w", Namespace, err)
	}
	return nil
}

// Uninstall deletes the definitions of the kinds, and so all of their objects.
func Uninstall(ctx context.Context, kube client.Client, kinds ...schema.GroupVersionKind) error {
	if len(kinds) == 0 {
		kinds = Kinds()
	}
	for _, kind := range kinds {
		if err := kube.Delete(ctx, newDefinition(kind)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the definition of %s: %w", kind, err)
		}
	}
	for _, kind := range kinds {
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			return served.HasEnded(ctx, kube, newDefinition(kind), kind)
		})
		if err != nil {
			return fmt.Errorf("waiting for the end of %s: %w", kind, err)
		}
	}
	return nil
}

// New is an object of a kind, with content in addition to its metadata.
func New(kind schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range content {
		object.Object[key] = value
	}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func newDefinition(kind schema.GroupVersionKind) *unstructured.Unstructured {
	plural := strings.ToLower(kind.Kind) + "s"
	made := New(definition, "", plural+"."+kind.Group, map[string]any{
		"spec": map[string]any{
			"group": kind.Group,
			"scope": "Namespaced",
			"names": map[string]any{
				"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": plural, "singular": strings.ToLower(kind.Kind),
			},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	})
	if strings.HasSuffix(kind.Group, ".k8s.io") { // the API server requires this for Kubernetes' own groups
		made.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "unapproved, a test double"})
	}
	return made
}

func awaitServed(ctx context.Context, kube client.Client, kind schema.GroupVersionKind) error {
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		found := newDefinition(kind)
		if err := kube.Get(ctx, client.ObjectKeyFromObject(found), found); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if !isEstablished(found) {
			return false, nil
		}
		objects := &unstructured.UnstructuredList{}
		objects.SetGroupVersionKind(kind)
		return kube.List(ctx, objects) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be served: %w", kind, err)
	}
	return nil
}

func isEstablished(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, isMap := entry.(map[string]any); isMap && condition["type"] == "Established" {
			return condition["status"] == "True"
		}
	}
	return false
}
