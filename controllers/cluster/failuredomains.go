// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// maxDomains is how many failure domains Cluster API takes.
const maxDomains = 100

// observeDomains publishes the failure domains of the hosts that the cluster has or can have. A control
// plane provider places machines by them, and a machine that is placed waits for a host in its domain: so
// a domain is offered for the control plane only where a host is that the control plane may use.
// Source: Cluster API's contract for InfraCluster, "failure domains".
func (r *Reconciler) observeDomains(ctx context.Context, object *infrav1.ElementalCluster, cluster *clusterv1.Cluster) error {
	if cluster == nil {
		return nil
	}
	hosts := &infrav1.ElementalHostList{}
	if err := r.Client.List(ctx, hosts, client.InNamespace(object.Namespace),
		client.HasLabels{association.FailureDomainLabel}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing ElementalHosts with a failure domain: %w", err)
	}
	if len(hosts.Items) == 0 {
		object.Status.FailureDomains = nil
		return nil
	}
	uses, err := r.controlPlaneHosts(ctx, cluster)
	if err != nil {
		return err
	}
	object.Status.FailureDomains = domainsOf(hosts.Items, cluster.Name, uses)
	return nil
}

// domainsOf returns the domains of a cluster's hosts, by name.
func domainsOf(hosts []infrav1.ElementalHost, cluster string, usedByControlPlane func(*infrav1.ElementalHost) bool) []clusterv1.FailureDomain {
	domains := map[string]bool{}
	for i := range hosts {
		host := &hosts[i]
		domain, belongsTo := association.FailureDomain(host), host.Labels[clusterv1.ClusterNameLabel]
		if domain == "" || !host.Spec.Approved || !host.DeletionTimestamp.IsZero() || belongsTo != "" && belongsTo != cluster {
			continue
		}
		domains[domain] = domains[domain] || usedByControlPlane(host)
	}
	published := make([]clusterv1.FailureDomain, 0, len(domains))
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		published = append(published, clusterv1.FailureDomain{Name: name, ControlPlane: ptr.To(domains[name])})
	}
	if len(published) == 0 {
		return nil
	}
	return published[:min(len(published), maxDomains)]
}

// controlPlaneHosts says of a host whether it serves the cluster's control plane, or is free to.
func (r *Reconciler) controlPlaneHosts(ctx context.Context, cluster *clusterv1.Cluster) (func(*infrav1.ElementalHost) bool, error) {
	machines := &infrav1.ElementalMachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name},
		client.HasLabels{clusterv1.MachineControlPlaneLabel}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ElementalMachines of the control plane of Cluster %s: %w", cluster.Name, err)
	}
	serving := map[string]bool{}
	for i := range machines.Items {
		serving[association.Recorded(&machines.Items[i])] = true
	}
	selector, err := r.controlPlaneSelector(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return func(host *infrav1.ElementalHost) bool {
		return serving[host.Name] || hoststate.Free(host) && selector.Matches(association.VouchedLabels(host))
	}, nil
}

// controlPlaneSelector selects the hosts that the control plane may use: none while it is not known, and
// any where it is of a kind that is not read.
func (r *Reconciler) controlPlaneSelector(ctx context.Context, cluster *clusterv1.Cluster) (labels.Selector, error) {
	if cluster.Spec.ControlPlaneRef.Kind != owner.KubeadmControlPlaneKind {
		return labels.Everything(), nil
	}
	owners, err := (&owner.Owners{Client: r.Client}).List(ctx, cluster.Namespace)
	if err != nil {
		return nil, err
	}
	of := slices.IndexFunc(owners, func(candidate owner.Owner) bool {
		return candidate.Kind() == owner.KubeadmControlPlaneKind && candidate.Object().GetName() == cluster.Spec.ControlPlaneRef.Name
	})
	if of < 0 {
		return labels.Nothing(), nil
	}
	template := &infrav1.ElementalMachineTemplate{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: owner.TemplateName(owners[of])}
	if err := r.Client.Get(ctx, key, template); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return labels.Nothing(), nil
		}
		return nil, fmt.Errorf("reading ElementalMachineTemplate %s: %w", key.Name, err)
	}
	selector, err := association.Selector(&infrav1.ElementalMachine{Spec: template.Spec.Template.Spec})
	if err != nil {
		return labels.Nothing(), nil // its machines say so
	}
	return selector, nil
}
