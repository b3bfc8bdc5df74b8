// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// observation is all that a decision depends on.
type observation struct {
	template *infrav1.ElementalMachineTemplate
	// rollouts of the template, whatever their content.
	rollouts []infrav1.ElementalRollout
	// machines that were made from the template and are not being deleted.
	machines []direct.Machine
	// owners that refer to the template, and those of them with Machines that Cluster API brings to it, or is to bring to it.
	owners, rotating []owner.Owner
	// all Machines that were made from the template or whose owner refers to it, and how many of them run its OS.
	all, upToDate int32
	// left are those that do not, by Cluster.
	left map[string]left
	// views of Clusters, by name; see viewOf.
	views map[string]*clusterview.View
	// result of the step by which the Machines were brought further, and whether that was done in all Clusters.
	result   direct.Result
	complete bool
}

func (r *Reconciler) observe(ctx context.Context, template *infrav1.ElementalMachineTemplate) (_ *observation, err error) {
	seen := &observation{template: template, left: map[string]left{}, views: map[string]*clusterview.View{}}
	if seen.rollouts, err = rollout.OfTemplate(ctx, r.Client, template.Namespace, template.Name); err != nil {
		return nil, err
	}
	if seen.machines, err = direct.MadeFrom(ctx, r.Client, template); err != nil {
		return nil, err
	}
	if seen.owners, err = r.Owners.List(ctx, template.Namespace, template.Name); err != nil {
		return nil, err
	}
	seen.count()
	return seen, r.countRotations(ctx, seen)
}

// count the Machines that were made from the template.
func (o *observation) count() {
	wanted := osversion.OfTemplate(o.template)
	for _, machine := range o.machines {
		o.all++
		if osversion.Same(machine.Elemental.Spec.OSVersionManagement, wanted) && clusterview.RunsItsOS(machine.Elemental) {
			o.upToDate++
			continue
		}
		o.leave(machine.Machine.Spec.ClusterName, 1, util.IsControlPlaneMachine(machine.Machine))
	}
}

// countRotations counts the Machines that Cluster API has not brought to the template yet, of owners that refer to it.
func (r *Reconciler) countRotations(ctx context.Context, seen *observation) error {
	for _, of := range seen.owners {
		behind, isRotating, err := r.viewOf(seen, of.ClusterName()).Rotation(ctx, of)
		if err != nil {
			return err
		}
		if isRotating {
			seen.rotating = append(seen.rotating, of)
		}
		seen.all += behind
		seen.leave(of.ClusterName(), int(behind), owner.IsControlPlane(of))
	}
	return nil
}

// leave Machines of a Cluster to be upgraded.
func (o *observation) leave(cluster string, machines int, ofControlPlane bool) {
	if machines == 0 {
		return
	}
	of := o.left[cluster]
	of.add(machines, ofControlPlane)
	o.left[cluster] = of
}

// viewOf a Cluster. Its machines, of which there may be thousands, are listed once in a reconcile.
func (r *Reconciler) viewOf(seen *observation, cluster string) *clusterview.View {
	if seen.views[cluster] == nil {
		seen.views[cluster] = clusterview.New(r.Client, client.ObjectKey{Namespace: seen.template.Namespace, Name: cluster})
	}
	return seen.views[cluster]
}

// clusters of the Machines, by name.
func (o *observation) clusters() []string {
	names := sets.New[string]()
	for _, of := range o.rotating {
		names.Insert(of.ClusterName())
	}
	for _, machine := range o.machines {
		names.Insert(machine.Machine.Spec.ClusterName)
	}
	return sets.List(names)
}
