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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// observation is all that one reconcile decides on.
type observation struct {
	cluster   *clusterv1.Cluster
	elemental *infrav1.ElementalCluster
	view      *clusterview.View
	// subjects are the Machines of the Cluster that have a Node and may be served by hosts, by that Node; see subjectOn.
	subjects map[string]*subject
	// nodes are the names of all Nodes of the Cluster's Machines, and incomplete says that some Machine has none yet.
	nodes      []string
	incomplete bool
}

// observe reads what Machines have in common, of which there may be thousands: a Machine by itself is read where its Node has a mark,
// or is to get one.
func (r *Reconciler) observe(ctx context.Context, cluster *clusterv1.Cluster, elemental *infrav1.ElementalCluster) (*observation, error) {
	seen := &observation{
		cluster: cluster, elemental: elemental, view: clusterview.New(r.Client, client.ObjectKeyFromObject(cluster)), subjects: map[string]*subject{},
	}
	machines, err := seen.view.Machines(ctx)
	if err != nil {
		return nil, err
	}
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
		wanted, err := r.wantedOf(ctx, seen.view, machine)
		if err != nil {
			return nil, err
		}
		seen.subjects[node] = &subject{desired: wanted, machine: machine}
	}
	return seen, nil
}

// wantedOf a Machine is the rollout of its attempt where there is no other, unless its owner wants another OS by now: that attempt ends by itself.
func (r *Reconciler) wantedOf(ctx context.Context, view *clusterview.View, machine *clusterv1.Machine) (desired, error) {
	wanted, err := r.desired(ctx, view, machine)
	if err != nil || wanted.rollout != "" {
		return wanted, err
	}
	unfinished, err := view.UnfinishedOn(ctx, machine.Spec.InfrastructureRef.Name)
	if err != nil || unfinished == nil || !isActive(unfinished) ||
		wanted.template != "" && !osversion.Same(unfinished.Spec.OSVersionManagement, wanted.os.Management) {
		return wanted, err
	}
	return desired{
		rollout: pausing.RolloutOf(unfinished), template: unfinished.Spec.TemplateName, options: unfinished.Spec.Options,
		os: hoststate.Decode(unfinished.Spec.OSVersionManagement),
	}, nil
}

// subjectOn a Node, with all that is known of it; nil where there is none, or its ElementalMachine is gone. It is read once.
func (o *observation) subjectOn(ctx context.Context, node string) (*subject, error) {
	of := o.subjects[node]
	if of == nil || of.own != nil {
		return of, nil
	}
	own, err := o.view.ElementalMachine(ctx, of.machine.Spec.InfrastructureRef.Name)
	if err != nil || own == nil {
		return nil, err
	}
	if of.attempt, err = o.view.AttemptOfRollout(ctx, of.machine.Name, of.rollout); err != nil {
		return nil, err
	}
	if own.Spec.HostRef != nil {
		if of.host, err = o.view.Host(ctx, own.Spec.HostRef.Name); err != nil {
			return nil, err
		}
	}
	of.own = own
	return of, nil
}
