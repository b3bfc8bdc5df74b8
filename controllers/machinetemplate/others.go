// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"maps"
	"slices"

	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// others are the Machines of the template's family whose owners are not rolled out by a reference.
type others struct {
	// direct are those that are upgraded without a reference, and notDirect are the others.
	direct, notDirect []direct.Machine
	// drivers of owners that have Machines.
	drivers map[string]infrav1.UpgradeDriver
	// unsupported says of owners whose Machines nothing upgrades what to change; behind are those of them with a Machine that
	// specifies another OS than the template.
	unsupported map[string]string
	behind      map[string]bool
	// all Machines but those of owners that are rolled out by a reference, and those of them that run the OS of the template.
	all, upToDate int32
	// left are how many of them do not, by Cluster.
	left map[string]left
	// result of the pass over those that are upgraded without a reference.
	result direct.Result
}

func newOthers() others {
	return others{drivers: map[string]infrav1.UpgradeDriver{}, unsupported: map[string]string{}, behind: map[string]bool{}, left: map[string]left{}}
}

// add a Machine, by the driver of its owner.
func (o *others) add(machine direct.Candidate, isBehind bool) {
	driver, known := o.drivers[machine.Owner]
	if !known {
		driver = machine.Choice.Driver
		o.drivers[machine.Owner] = driver
	}
	machine.Driver = driver
	switch driver {
	case infrav1.DriverDirect, infrav1.DriverRancherDrain:
		o.direct = append(o.direct, machine.Machine)
	case infrav1.DriverClusterAPI:
		o.notDirect = append(o.notDirect, machine.Machine)
		return
	default:
		o.notDirect = append(o.notDirect, machine.Machine)
		o.unsupported[machine.Owner] = machine.Choice.Problem
		o.behind[machine.Owner] = o.behind[machine.Owner] || isBehind
	}
	o.all++
	if !isBehind && clusterview.RunsItsOS(machine.Elemental) {
		o.upToDate++
	} else {
		cluster := machine.Machine.Machine.Spec.ClusterName
		of := o.left[cluster]
		of.add(1, util.IsControlPlaneMachine(machine.Machine.Machine))
		o.left[cluster] = of
	}
}

// problems are what keeps these Machines from running the OS of the template; nil if nothing does.
func (o *others) problems() []inplace.Problem {
	found := slices.Clone(o.result.Problems)
	for _, of := range slices.Sorted(maps.Keys(o.unsupported)) {
		if o.behind[of] {
			found = append(found, inplace.Problem{Reason: infrav1.UnsupportedOwnerReason, Message: o.unsupported[of]})
		}
	}
	return found
}

// uses reports whether a Machine is brought to the content of a clone by driver Direct.
func (o *others) uses(clone string) bool {
	return slices.ContainsFunc(slices.Concat(o.direct, o.notDirect), func(machine direct.Machine) bool {
		return owner.DirectTemplate(machine.Elemental) == clone
	})
}
