// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Question is what is to be decided.
type Question struct {
	// Node that is to go down.
	Node string
	// Policy of the cluster, for virtual machines that cannot be migrated.
	Policy infrav1.VMPolicy
	// Since is when the evacuation began, by the clock of the workload cluster; migrations that failed before do not count. Zero: none counts yet.
	Since time.Time
}

// Decision is what becomes of a virtual machine, and why. The reason changes only when the decision would be explained
// differently, not while a migration makes its way.
type Decision struct {
	Namespace, Name string
	Decision        infrav1.VMDecision
	Reason          string

	// leaves is how it is made to leave.
	leaves way
}

// way is how a virtual machine is made to leave its Node.
type way int

const (
	// byItself: there is nothing to do, or nothing more.
	byItself way = iota
	// byEviction of its Pod, which KubeVirt answers with a migration.
	byEviction
	// byMigration: by a VirtualMachineInstanceMigration of ours, where an eviction would stop the guest.
	byMigration
	// byHalting its VirtualMachine.
	byHalting
	// byDeletion, where there is no VirtualMachine.
	byDeletion
)

// Status is the decision as an attempt reports it.
func (f Decision) Status() infrav1.VirtualMachineStatus {
	const longest = 512 // of the field
	return infrav1.VirtualMachineStatus{
		Namespace: f.Namespace, Name: f.Name, Decision: f.Decision, Reason: strings.ToValidUTF8(f.Reason[:min(longest, len(f.Reason))], ""),
	}
}

// Decide decides on every virtual machine of a Node, in the order of their names. It is pure: an evacuation, a check
// before one and a plan of one come to the same decisions.
func Decide(s *Snapshot, q Question) []Decision { return newDecider(s, q).decisions() }

// decisions can be made once: they take the room that there is.
func (d *decider) decisions() []Decision {
	instances := []*kubevirtv1.VirtualMachineInstance{}
	for i := range d.snapshot.Instances {
		if d.isHere(&d.snapshot.Instances[i]) {
			instances = append(instances, &d.snapshot.Instances[i])
		}
	}
	// The largest choose first, so that what is left over fits somewhere.
	slices.SortFunc(instances, func(a, b *kubevirtv1.VirtualMachineInstance) int {
		memory := d.needs(b).requests.Memory().Cmp(*d.needs(a).requests.Memory())
		return cmp.Or(memory, cmp.Compare(keyOf(a), keyOf(b)))
	})
	decisions := []Decision{}
	for _, instance := range instances {
		decisions = append(decisions, d.decide(instance))
	}
	slices.SortFunc(decisions, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return decisions
}

// isHere reports whether an instance is on the Node, or starts there: then only its Pod says so.
func (d *decider) isHere(vmi *kubevirtv1.VirtualMachineInstance) bool {
	if vmi.Status.NodeName != "" {
		return vmi.Status.NodeName == d.question.Node
	}
	return vmi.UID != "" && d.pods[string(vmi.UID)] != nil
}

// rule decides on a virtual machine, or leaves it to the next rule.
type rule func(*kubevirtv1.VirtualMachineInstance) *Decision

// decide goes through the rules in their order. What is happening to a virtual machine already comes first; what a
// person wants for it comes before what is good for all.
func (d *decider) decide(vmi *kubevirtv1.VirtualMachineInstance) Decision {
	for _, decides := range []rule{d.stopped, d.ended, d.migrating, d.labelled, d.failed, d.evicted, d.external, d.movable, d.passing} {
		if decision := decides(vmi); decision != nil {
			decision.Namespace, decision.Name = vmi.Namespace, vmi.Name
			return *decision
		}
	}
	decision := d.byPolicy(vmi, cmp.Or(d.policyOf(vmi), d.question.Policy), d.immovable(vmi))
	decision.Namespace, decision.Name = vmi.Namespace, vmi.Name
	return decision
}

func block(reason string) *Decision { return &Decision{Decision: infrav1.VMBlock, Reason: reason} }

func ignore(reason string) *Decision { return &Decision{Decision: infrav1.VMIgnore, Reason: reason} }

func migrate(reason string, leaves way) *Decision {
	return &Decision{Decision: infrav1.VMMigrate, Reason: reason, leaves: leaves}
}

// stopped: its VirtualMachine was stopped for an upgrade of this Node.
func (d *decider) stopped(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	vm := d.machineOf(vmi)
	if vm == nil {
		return nil
	}
	state, err := stateOf(vm)
	if err != nil || state == nil || state.Node != d.question.Node || !isOff(vm) {
		return nil
	}
	return &Decision{Decision: state.decision(), Reason: state.Reason}
}

// ended: nothing of it runs, or somebody else has stopped it.
func (d *decider) ended(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	vm := d.machineOf(vmi)
	switch {
	case vmi.IsFinal():
		return ignore("has ended: it is " + string(vmi.Status.Phase))
	case !vmi.DeletionTimestamp.IsZero():
		return ignore("is being deleted")
	case vm != nil && isOff(vm):
		return ignore("is being stopped: its VirtualMachine is halted")
	}
	return nil
}

// migrating: a migration is under way, and has not failed often enough to be given up. One that waits for a Node, where there is no other, is not.
func (d *decider) migrating(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	migration := d.migrations[keyOf(vmi)].unfinished
	if migration == nil {
		return nil
	}
	if why := blockedBy(migration); why != "" {
		return block("its migration waits: " + why)
	}
	if d.migrations[keyOf(vmi)].failures(d.question.Since) >= maxFailures {
		return nil
	}
	if d.hasTarget(migration) {
		return migrate(d.migratesBecause(vmi), byItself)
	}
	if len(d.targets.nodes) == 0 {
		return nil // it will never have one
	}
	if refusal := d.targets.place(d.needs(vmi)); refusal != "" {
		return block("its migration waits for a node: " + refusal)
	}
	return migrate(d.migratesBecause(vmi), byItself)
}

// labelled: a person has said what is to become of this one.
func (d *decider) labelled(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	label, value, policy, err := d.label(vmi)
	why := "label " + label + " is " + value
	switch {
	case err != nil:
		return block(err.Error())
	case policy == infrav1.VMPolicyBlock:
		return block(why)
	case policy == infrav1.VMPolicyShutdown, policy == infrav1.VMPolicyShutdownAndRestore:
		decision := d.byPolicy(vmi, policy, why)
		return &decision
	}
	return nil
}

// failed: its migration has failed too often. It is left to a person, and never stopped for it.
func (d *decider) failed(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	history := d.migrations[keyOf(vmi)]
	if history.failures(d.question.Since) < maxFailures {
		return nil
	}
	return block(fmt.Sprintf("its migration failed %d times", maxFailures) + history.lastFailure() +
		": look at it, then migrate it, stop it, or set its label " + infrav1.VMPolicyLabel)
}

// evicted: KubeVirt has been asked already, and makes the next migration by itself.
func (d *decider) evicted(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	if vmi.Status.EvacuationNodeName != d.question.Node || len(d.targets.nodes) == 0 {
		return nil
	}
	if d.strategyOf(vmi) != kubevirtv1.EvictionStrategyExternal && !vmi.IsMigratable() {
		return block("was to be migrated and cannot be any more: " + notMigratable(vmi))
	}
	if d.strategyOf(vmi) == kubevirtv1.EvictionStrategyExternal {
		return migrate(waitsForExternal, byItself)
	}
	if refusal := d.targets.place(d.needs(vmi)); refusal != "" {
		return block("its migration waits for a node: " + refusal)
	}
	return migrate(d.migratesBecause(vmi), byItself)
}

const waitsForExternal = "evictionStrategy External: its own controller has to move it"

// external: an eviction tells the controller that is in charge.
func (d *decider) external(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	if d.strategyOf(vmi) != kubevirtv1.EvictionStrategyExternal {
		return nil
	}
	return migrate(waitsForExternal, byEviction)
}

// movable: it can be migrated, and there is a node for it.
func (d *decider) movable(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	if !vmi.IsRunning() || !vmi.IsMigratable() || d.targets.place(d.needs(vmi)) != "" {
		return nil
	}
	switch d.strategyOf(vmi) {
	case kubevirtv1.EvictionStrategyLiveMigrate, kubevirtv1.EvictionStrategyLiveMigrateIfPossible:
		return migrate(d.migratesBecause(vmi), byEviction)
	}
	return migrate(d.migratesBecause(vmi), byMigration)
}

func (d *decider) migratesBecause(vmi *kubevirtv1.VirtualMachineInstance) string {
	return "is live-migratable, evictionStrategy " + string(cmp.Or(d.strategyOf(vmi), kubevirtv1.EvictionStrategyNone))
}

// immovable says why a virtual machine cannot be migrated.
func (d *decider) immovable(vmi *kubevirtv1.VirtualMachineInstance) string {
	switch {
	case !vmi.IsRunning():
		return d.starting(vmi)
	case !vmi.IsMigratable():
		return notMigratable(vmi)
	}
	return d.targets.place(d.needs(vmi))
}

// starting says of an instance that does not run yet what it waits for, and what ends it where it waits for ever.
func (d *decider) starting(vmi *kubevirtv1.VirtualMachineInstance) string {
	said := "is not running yet: it is " + cmp.Or(string(vmi.Status.Phase), "Pending")
	if pod := d.pods[string(vmi.UID)]; pod != nil && pod.Status.Phase == corev1.PodPending {
		said += ", and its Pod " + pod.Name + " is Pending"
	}
	ends := fmt.Sprintf("kubectl --namespace %s delete vmi %s", vmi.Namespace, vmi.Name)
	if vm := machineKey(vmi); vm.Name != "" {
		ends = fmt.Sprintf("kubectl --namespace %s label --overwrite vm %s %s=%s", vm.Namespace, vm.Name, infrav1.VMPolicyLabel, infrav1.VMPolicyShutdownAndRestore)
	}
	return said + ": wait until it runs, or " + ends
}

func notMigratable(vmi *kubevirtv1.VirtualMachineInstance) string {
	for _, condition := range vmi.Status.Conditions {
		if condition.Type == kubevirtv1.VirtualMachineInstanceIsMigratable && condition.Status != corev1.ConditionTrue {
			return "is not live-migratable: " + because(condition.Reason, condition.Message)
		}
	}
	return "is not live-migratable: KubeVirt has not said that it is"
}

// because joins a reason and a message of which either may be missing.
func because(reason, message string) string {
	if reason == "" || message == "" {
		return cmp.Or(reason, message, "no reason given")
	}
	return reason + ": " + message
}
