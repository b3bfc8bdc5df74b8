// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

// HostsInDomains are the hosts in failure domains that are the Cluster's, by its label, or no Cluster's.
func (v *View) HostsInDomains(ctx context.Context) ([]infrav1.ElementalHost, error) {
	hosts := []infrav1.ElementalHost{}
	for _, cluster := range []string{v.cluster.Name, noCluster} {
		found := &infrav1.ElementalHostList{}
		err := v.reader.List(ctx, found, client.InNamespace(v.cluster.Namespace), client.MatchingFields{byDomain: inDomain(cluster)},
			client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("listing ElementalHosts with a failure domain for Cluster %s: %w", v.cluster.Name, err)
		}
		hosts = append(hosts, found.Items...)
	}
	return hosts, nil
}

// noCluster is what the label of a host that is free has for the name of its Cluster.
const noCluster = ""

// inDomain is the value of index byDomain for the hosts of a Cluster; the index takes no empty one.
func inDomain(cluster string) string { return "cluster/" + cluster }

func domainOfHost(object client.Object) []string {
	if object.GetLabels()[association.FailureDomainLabel] == "" {
		return nil
	}
	return []string{inDomain(object.GetLabels()[clusterv1.ClusterNameLabel])}
}
