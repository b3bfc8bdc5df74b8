// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// observation is all that one reconcile decides on.
type observation struct {
	cluster   *clusterv1.Cluster
	elemental *infrav1.ElementalCluster
	// subjects are the Machines of the Cluster that hosts serve, by their Nodes.
	subjects map[string]*subject
	// nodes are the names of all Nodes of the Cluster's Machines, and incomplete says that some Machine has none yet.
	nodes      []string
	incomplete bool
}

func (r *Reconciler) observe(ctx context.Context, cluster *clusterv1.Cluster, elemental *infrav1.ElementalCluster) (*observation, error) {
	seen := &observation{cluster: cluster, elemental: elemental, subjects: map[string]*subject{}}
	view := clusterview.New(r.Client, client.ObjectKeyFromObject(cluster))
	machines, err := view.Machines(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]desired{}
	for i := range machines {
		machine := &machines[i]
		node := machine.Status.NodeRef.Name
		if node == "" {
			seen.incomplete = seen.incomplete || machine.DeletionTimestamp.IsZero()
			continue
		}
		seen.nodes = append(seen.nodes, node)
		if !association.NamesElementalMachine(machine.Spec.InfrastructureRef) {
			continue
		}
		own, err := view.ElementalMachine(ctx, machine.Spec.InfrastructureRef.Name)
		if err != nil {
			return nil, err
		}
		if own == nil {
			continue
		}
		if seen.subjects[node], err = r.observeSubject(ctx, view, machine, own, known); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func (r *Reconciler) observeSubject(ctx context.Context, view *clusterview.View, machine *clusterv1.Machine, own *infrav1.ElementalMachine,
	known map[string]desired,
) (*subject, error) {
	wanted, err := r.desired(ctx, view, machine, known)
	if err != nil {
		return nil, err
	}
	found := &subject{machine: machine, own: own, desired: wanted}
	if found.rollout == "" {
		// Its owner, or what that wants, is gone or of a kind that is not known.
		unfinished, err := view.UnfinishedOn(ctx, own.Name)
		if err != nil {
			return nil, err
		}
		if unfinished != nil && isActive(unfinished) {
			found.desired = desired{
				rollout: pausing.RolloutOf(unfinished), options: unfinished.Spec.Options, os: hoststate.Decode(unfinished.Spec.OSVersionManagement),
			}
		}
	}
	if found.attempt, err = view.AttemptOfRollout(ctx, machine.Name, found.rollout); err != nil {
		return nil, err
	}
	if own.Spec.HostRef == nil {
		return found, nil
	}
	found.host, err = view.Host(ctx, own.Spec.HostRef.Name)
	return found, err
}
