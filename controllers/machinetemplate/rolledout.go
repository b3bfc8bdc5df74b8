// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// reportRolledOut says how many of the Machines run the OS of the template, whose they are, and which rollouts bring them to it.
func reportRolledOut(seen *observation) {
	status := &seen.template.Status
	status.Machines, status.UpToDateMachines = &seen.all, &seen.upToDate
	status.Owners, status.CurrentRollouts = reportedOwners(seen), currentRollouts(seen)
	if seen.upToDate < seen.all {
		condition.False(seen.template, infrav1.RolledOutCondition, infrav1.MachinesNotUpToDateReason, "%d of %d Machines run this OS", seen.upToDate, seen.all)
		return
	}
	condition.TrueBecause(seen.template, infrav1.RolledOutCondition, infrav1.RolledOutReason, "")
}

// reportUnobserved says that nothing is known of a template that was changed, whose Machines could not be looked at since. True would say of the change
// that it is rolled out.
func reportUnobserved(template *infrav1.ElementalMachineTemplate) {
	if known := conditions.Get(template, infrav1.RolledOutCondition); known != nil && known.ObservedGeneration != template.Generation {
		condition.Unknown(template, infrav1.RolledOutCondition, infrav1.NotObservedReason,
			"The Machines have not been looked at since the template was changed; the manager's log says why")
	}
}

// reportedOwners of the Machines, by name, with what upgrades their hosts.
func reportedOwners(seen *observation) []infrav1.TemplateOwner {
	const most = 256 // as in the API
	drivers := map[string]infrav1.UpgradeDriver{}
	for _, machine := range seen.machines {
		drivers[machine.Owner] = machine.Driver
	}
	found := make([]infrav1.TemplateOwner, 0, len(drivers))
	for _, name := range slices.Sorted(maps.Keys(drivers)) {
		found = append(found, infrav1.TemplateOwner{Owner: name, Driver: drivers[name]})
	}
	return found[:min(most, len(found))]
}

// currentRollouts are the names of those that bring Machines to the content.
func currentRollouts(seen *observation) []string {
	const most = 64 // as in the API
	names := sets.New[string]()
	for i := range seen.rollouts {
		if current := seen.current(seen.rollouts[i].Spec.ClusterName); current != nil {
			names.Insert(current.Name)
		}
	}
	all := sets.List(names)
	return all[:min(most, len(all))]
}

// runs is what is seen of an ElementalMachine that decides whether its template is rolled out.
func runs(machine *infrav1.ElementalMachine) any {
	return []any{owner.MadeFrom(machine), machine.Generation, machine.DeletionTimestamp.IsZero(), owner.IsUpdating(machine),
		machine.OwnerReferences, clusterview.RunsItsOS(machine)}
}
