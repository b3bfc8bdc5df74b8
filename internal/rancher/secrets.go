// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch

// MachineNameLabel names the Machine of a plan secret.
const MachineNameLabel = "rke.cattle.io/machine-name"

// NewSecret is an empty object for the metadata of a plan secret.
func NewSecret() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}

// CacheOptions are those of the cache for Secrets: the metadata of plan secrets, in one namespace or, if that is empty, in all.
func CacheOptions(namespace string) cache.Options {
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{NewSecret(): {Label: planSecrets()}},
	}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return options
}

// planSecrets selects them.
func planSecrets() labels.Selector {
	selector, err := labels.Parse(MachineNameLabel)
	if err != nil {
		panic(err) // a constant
	}
	return selector
}

// byMachine is the field that finds plan secrets by their Machine.
const byMachine = "machine"

// AddIndex adds the index that DrainOf lists by to the cache of CacheOptions, before it is started.
func AddIndex(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, NewSecret(), byMachine, func(secret client.Object) []string { return []string{secret.GetLabels()[MachineNameLabel]} })
	if err != nil {
		return fmt.Errorf("indexing plan secrets by Machine: %w", err)
	}
	return nil
}

// Now is a drain as the API server has it now; none if its plan secret is gone.
func Now(ctx context.Context, live client.Reader, drain Drain) (Drain, error) {
	if drain.Secret == nil {
		return Drain{}, nil
	}
	secret, err := existing.Get(ctx, live, NewSecret(), drain.Secret.Namespace, drain.Secret.Name)
	if err != nil || secret == nil {
		return Drain{}, err
	}
	return Of(secret), nil
}

// DrainOf a Machine, by the cache of CacheOptions. There is none in a Cluster that Rancher has not provisioned.
func DrainOf(ctx context.Context, drains client.Reader, namespace, machine string) (Drain, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := drains.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{byMachine: machine}); err != nil {
		return Drain{}, fmt.Errorf("looking for the plan secret of Machine %s: %w", machine, err)
	}
	if len(list.Items) == 0 {
		return Drain{}, nil
	}
	// The one with a drain, if others have the label too.
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Or(-cmp.Compare(Of(&a).Options, Of(&b).Options), cmp.Compare(a.Name, b.Name))
	})
	return Of(&list.Items[0]), nil
}
