// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// HostsInDomains are the hosts of a namespace that are in a failure domain, whichever Cluster they serve, if any. They must
// not be changed.
func HostsInDomains(ctx context.Context, cache client.Reader, namespace string) ([]infrav1.ElementalHost, error) {
	found := &infrav1.ElementalHostList{}
	err := cache.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{byDomain: inDomain}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing ElementalHosts with a failure domain: %w", err)
	}
	return found.Items, nil
}
