// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Quarantining are the ElementalClusters of a namespace that have the image with a digest in their quarantine, in no order. They
// must not be changed.
func Quarantining(ctx context.Context, cache client.Reader, namespace, digest string) ([]infrav1.ElementalCluster, error) {
	found := &infrav1.ElementalClusterList{}
	err := cache.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{byQuarantine: digest}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the ElementalClusters that have %s in quarantine: %w", digest, err)
	}
	return found.Items, nil
}

func quarantineOf(object client.Object) []string {
	cluster, isOne := object.(*infrav1.ElementalCluster)
	if !isOne {
		return nil
	}
	digests := make([]string, 0, len(cluster.Spec.Quarantine))
	for i := range cluster.Spec.Quarantine {
		digests = append(digests, cluster.Spec.Quarantine[i].Digest)
	}
	return digests
}
