// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
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
	view := clusterview.New(r.Client, client.ObjectKeyFromObject(cluster))
	hosts, err := view.HostsInDomains(ctx)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		object.Status.FailureDomains = nil
		return nil
	}
	uses, err := r.controlPlaneHosts(ctx, view, cluster)
	if err != nil {
		return err
	}
	object.Status.FailureDomains = domainsOf(hosts, uses)
	return nil
}

// domainsOf returns the domains of hosts, by name.
func domainsOf(hosts []infrav1.ElementalHost, usedByControlPlane func(*infrav1.ElementalHost) bool) []clusterv1.FailureDomain {
	domains := map[string]bool{}
	for i := range hosts {
		host := &hosts[i]
		if !host.Spec.Approved || !host.DeletionTimestamp.IsZero() {
			continue
		}
		domain := association.FailureDomain(host)
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
func (r *Reconciler) controlPlaneHosts(ctx context.Context, view *clusterview.View, cluster *clusterv1.Cluster) (func(*infrav1.ElementalHost) bool, error) {
	machines, err := view.ElementalMachines(ctx)
	if err != nil {
		return nil, err
	}
	serving := map[string]bool{}
	for i := range machines {
		if _, isControlPlane := machines[i].Labels[clusterv1.MachineControlPlaneLabel]; isControlPlane {
			serving[association.Recorded(&machines[i])] = true
		}
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
	object := owner.NewControlPlane(cluster.Spec.ControlPlaneRef.Kind)
	if object == nil {
		return labels.Everything(), nil
	}
	object, err := existing.Get(ctx, r.Client, object, cluster.Namespace, cluster.Spec.ControlPlaneRef.Name)
	controlPlane, exists := owner.ForControlPlane(object)
	switch {
	case meta.IsNoMatchError(err) && cluster.Spec.ControlPlaneRef.Kind == owner.RKE2ControlPlaneKind: // of a version that is not read
		return labels.Everything(), nil
	case meta.IsNoMatchError(err) || err == nil && (!exists || !object.GetDeletionTimestamp().IsZero()):
		return labels.Nothing(), nil
	case err != nil:
		return nil, err
	}
	return r.templateSelector(ctx, cluster.Namespace, owner.TemplateName(controlPlane))
}

// templateSelector selects the hosts that Machines from a template may use.
func (r *Reconciler) templateSelector(ctx context.Context, namespace, name string) (labels.Selector, error) {
	template, err := existing.Get(ctx, r.Client, &infrav1.ElementalMachineTemplate{}, namespace, name)
	if err != nil {
		return nil, err
	}
	if template == nil {
		return labels.Nothing(), nil
	}
	selector, err := association.Selector(&infrav1.ElementalMachine{Spec: template.Spec.Template.Spec})
	if err != nil {
		return labels.Nothing(), nil // its machines say so
	}
	return selector, nil
}
