// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// reportRolledOut says how many of the Machines run the OS of the template, whose they are, and which clones they are brought to.
func reportRolledOut(seen *observation) {
	status := &seen.template.Status
	status.Machines, status.UpToDateMachines = &seen.all, &seen.upToDate
	status.Owners, status.CurrentClone = reportedOwners(seen), strings.Join(usedClones(seen), ",")
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

// usedClones are the clones that Machines are brought to, by name.
func usedClones(seen *observation) []string {
	names := sets.New[string]()
	for _, machine := range seen.machines {
		if name := owner.NotedTemplate(machine.Elemental); seen.clones[name] != nil {
			names.Insert(name)
		}
	}
	return sets.List(names)
}

// runs is what is seen of an ElementalMachine that decides whether its template is rolled out.
func runs(machine *infrav1.ElementalMachine) any {
	return []any{owner.MadeFrom(machine), machine.Generation, machine.DeletionTimestamp.IsZero(), owner.IsUpdating(machine),
		machine.OwnerReferences, clusterview.RunsItsOS(machine)}
}
