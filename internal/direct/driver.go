// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

const (
	// retry is how often a rollout that has not ended is looked at. What it waits for is an event, as a rule.
	retry = 15 * time.Second
	// soon is for what has just been written.
	soon = time.Second
)

// Namespaces tells which namespaces have opted in to upgrades in place.
type Namespaces interface {
	// NotOptedIn says, from a live read, why a namespace has not opted in, and what to change; empty where it has.
	NotOptedIn(ctx context.Context, namespace string) (string, error)
}

// Driver rolls out templates to Machines.
type Driver struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server what must not be stale when attempts are made.
	Live client.Reader
	// Namespaces that have opted in.
	Namespaces Namespaces
	// Recorder emits events.
	Recorder events.EventRecorder
	// Clock is the time.
	Clock clock.PassiveClock
}

// Rollout is the content of a template, and the Machines that are to run it.
type Rollout struct {
	// Template whose content is rolled out.
	Template *infrav1.ElementalMachineTemplate
	// OS is that of the template, with the image of its ManagedOSVersion.
	OS infrav1.OSVersionManagement
	// Current is the rollout of the content to a Cluster; nil if there is none.
	Current func(cluster string) *infrav1.ElementalRollout
	// Begin makes a rollout of the content to a Cluster.
	Begin func(ctx context.Context, cluster *clusterv1.Cluster) (*infrav1.ElementalRollout, error)
	// Machines that were made from the template, and are not being deleted.
	Machines []Machine
}

// Machine is one that was made from the template.
type Machine struct {
	// Machine is the cache's own, and must not be changed.
	Machine *clusterv1.Machine
	// Elemental is its ElementalMachine, a copy.
	Elemental *infrav1.ElementalMachine
	// Owner with its kind, or the Machine itself.
	Owner string
	// Driver is Direct or RancherDrain.
	Driver infrav1.UpgradeDriver

	// attempts on it, ended ones too, as the pass has found them.
	attempts []infrav1.ElementalHostUpgrade
	// host of the machine; nil if it has none, or the pass has not looked at it.
	host *infrav1.ElementalHost
	// asRead is the ElementalMachine as it was read; nil if nothing that the pass has changed on it is unsaved.
	asRead *infrav1.ElementalMachine
}

func (m *Machine) isControlPlane() bool { return util.IsControlPlaneMachine(m.Machine) }

// Result of a pass.
type Result struct {
	// Problems are what keeps the rollout from continuing until a user acts.
	Problems []inplace.Problem
	// After is when to look again; zero if there is nothing left to do.
	After time.Duration
}

// add another result.
func (r *Result) add(other Result) {
	r.Problems = append(r.Problems, other.Problems...)
	r.After = util.LowestNonZeroResult(ctrl.Result{RequeueAfter: r.After}, ctrl.Result{RequeueAfter: other.After}).RequeueAfter
}

// Reconcile brings a rollout one step further in each Cluster. What fails in one keeps no other from going on.
func (d *Driver) Reconcile(ctx context.Context, of Rollout) (Result, error) {
	passes := d.passes(of)
	all, failed := Result{}, []error{}
	for _, name := range slices.Sorted(maps.Keys(passes)) {
		slices.SortFunc(passes[name].machines, func(a, b Machine) int { return InOrder(a.Machine, b.Machine) })
		result, err := passes[name].run(ctx)
		failed = append(failed, err)
		all.add(result)
	}
	return all, errors.Join(failed...)
}

// passes over the Machines of each Cluster, by its name. A few Machines of a Cluster that Rancher has provisioned may have no owner, and have
// a pass of their own, as their driver is another one.
func (d *Driver) passes(of Rollout) map[string]*pass {
	passes := map[string]*pass{}
	passOf := func(machine Machine) *pass {
		key := machine.Machine.Spec.ClusterName
		if machine.Driver == infrav1.DriverRancherDrain {
			key += "/" + string(machine.Driver)
		}
		if passes[key] == nil {
			cluster := machine.Machine.Spec.ClusterName
			passes[key] = &pass{Driver: d, of: of, hash: osversion.Hash(of.OS), rollout: of.Current(cluster), cluster: cluster, driver: machine.Driver}
		}
		return passes[key]
	}
	for _, machine := range of.Machines {
		if IsNew(machine.Elemental) {
			continue
		}
		found := passOf(machine)
		found.machines = append(found.machines, machine)
	}
	return passes
}

// InOrder compares two Machines by the order in which they are upgraded.
func InOrder(a, b *clusterv1.Machine) int { return placeOf(a).Compare(placeOf(b)) }

func placeOf(machine *clusterv1.Machine) attempts.Place {
	return attempts.Place{ControlPlane: util.IsControlPlaneMachine(machine), Node: machine.Status.NodeRef.Name, Name: machine.Name}
}
