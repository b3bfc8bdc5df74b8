// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// countMachines counts the Machines of the template's owners, and those of them that run its OS. A Machine of an owner that does
// not refer to the template's content yet does not.
func (r *Reconciler) countMachines(ctx context.Context, seen *observation) error {
	var upToDate, all int32
	seen.left = map[string]left{}
	for _, candidate := range seen.owners {
		running, made, err := r.viewOf(seen, candidate).UpToDate(ctx, candidate)
		if err != nil {
			return err
		}
		if candidate.position != current {
			running = 0
		}
		all, upToDate = all+made, upToDate+running
		of := seen.left[candidate.ClusterName()]
		of.add(int(made-running), owner.IsControlPlane(candidate))
		seen.left[candidate.ClusterName()] = of
	}
	for cluster, count := range seen.others.left {
		of := seen.left[cluster]
		of.plus(count)
		seen.left[cluster] = of
	}
	all, upToDate = all+seen.others.all, upToDate+seen.others.upToDate
	seen.template.Status.Owners = reportedOwners(seen)
	seen.template.Status.Machines, seen.template.Status.UpToDateMachines = &all, &upToDate
	return nil
}

// viewOf the Cluster of an owner.
func (r *Reconciler) viewOf(seen *observation, of owner.Owner) *clusterview.View {
	return r.viewNamed(seen, of.ClusterName())
}

// viewNamed is the view of a Cluster. Its machines, of which there may be thousands, are listed once in a reconcile.
func (r *Reconciler) viewNamed(seen *observation, name string) *clusterview.View {
	if seen.views == nil {
		seen.views = map[string]*clusterview.View{}
	}
	if seen.views[name] == nil {
		seen.views[name] = clusterview.New(r.Client, client.ObjectKey{Namespace: seen.template.Namespace, Name: name})
	}
	return seen.views[name]
}

// reportedOwners of the template's Machines, by name, with what upgrades their hosts.
func reportedOwners(seen *observation) []infrav1.TemplateOwner {
	const most = 256 // as in the API
	drivers := maps.Clone(seen.others.drivers)
	for _, candidate := range seen.owners {
		drivers[owner.Describe(candidate)] = infrav1.DriverClusterAPI
	}
	found := make([]infrav1.TemplateOwner, 0, len(drivers))
	for _, name := range slices.Sorted(maps.Keys(drivers)) {
		found = append(found, infrav1.TemplateOwner{Owner: name, Driver: drivers[name]})
	}
	return found[:min(most, len(found))]
}

// reportRolledOut sums up what the other conditions and the Machines say. Clones are not rolled out by themselves.
func reportRolledOut(template *infrav1.ElementalMachineTemplate) {
	status := &template.Status
	status.ImageURI, _ = osversion.Image(osversion.OfTemplate(template))
	if rollout.IsClone(template) {
		return
	}
	all, upToDate := ptr.Deref(status.Machines, 0), ptr.Deref(status.UpToDateMachines, 0)
	switch updated := conditions.Get(template, infrav1.ReferencesUpdatedCondition); {
	case updated == nil:
	case updated.ObservedGeneration != template.Generation:
		// The owners could not be looked at since the template was changed. True would say of the change that it is rolled out.
		condition.Unknown(template, infrav1.RolledOutCondition, infrav1.ReferencesNotUpdatedReason,
			"The owners have not been looked at since the template was changed; the manager's log says why")
	case updated.Status != metav1.ConditionTrue:
		condition.False(template, infrav1.RolledOutCondition, infrav1.ReferencesNotUpdatedReason, "%s", updated.Message)
	case upToDate < all:
		condition.False(template, infrav1.RolledOutCondition, infrav1.MachinesNotUpToDateReason, "%d of %d Machines run this OS", upToDate, all)
	default:
		condition.TrueBecause(template, infrav1.RolledOutCondition, infrav1.RolledOutReason, "")
	}
}

// runs is what is seen of an ElementalMachine that decides whether its template is rolled out.
func runs(machine *infrav1.ElementalMachine) any {
	return []any{owner.MadeFrom(machine), machine.Generation, machine.DeletionTimestamp.IsZero(), owner.IsUpdating(machine),
		machine.OwnerReferences, clusterview.RunsItsOS(machine)}
}
