// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// pass is one look at the rollout in one Cluster.
type pass struct {
	*Driver
	of Rollout
	// hash of the OS that is rolled out.
	hash string
	// rollout of it to the Cluster; nil while there is none.
	rollout  *infrav1.ElementalRollout
	cluster  string
	driver   infrav1.UpgradeDriver
	machines []Machine
}

// run a step, unless the Cluster is paused.
func (p *pass) run(ctx context.Context) (Result, error) {
	if why, err := p.isPaused(ctx); why != "" || err != nil {
		return p.paused(why), err
	}
	left, err := p.leaveUpdated(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := p.record(ctx); err != nil {
		return Result{}, err
	}
	if _, hasImage := osversion.Image(p.of.OS); !hasImage {
		return Result{}, nil // there is nothing that a host could be upgraded to
	}
	result, err := p.step(ctx)
	if left {
		result.add(Result{After: retry})
	}
	return result, err
}

// leaveUpdated takes the machines out that Cluster API is bringing to the template, and reports whether there are such.
func (p *pass) leaveUpdated(ctx context.Context) (left bool, err error) {
	ours := []Machine{}
	for i := range p.machines {
		isUpdated, err := p.isBeingUpdated(ctx, &p.machines[i])
		if err != nil {
			return false, err
		}
		if !isUpdated {
			ours = append(ours, p.machines[i])
		}
	}
	left, p.machines = len(ours) < len(p.machines), ours
	return left, nil
}

// step assigns the content of the template to the machines that have another, and starts the next ones. Those whose nodes are paused do not count, and
// none is started after one that did not end well. Where Rancher drains the nodes, it chooses.
func (p *pass) step(ctx context.Context) (Result, error) {
	if problem, err := p.assign(ctx); problem != nil || err != nil {
		return waitingFor(problem), err
	}
	progress, err := p.look(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := p.recordDone(ctx, progress.done); err != nil {
		return Result{}, err
	}
	if p.driver == infrav1.DriverRancherDrain {
		return p.follow(ctx, progress)
	}
	paused := Result{}
	for _, machine := range progress.paused {
		paused.add(p.waits(machine, isPausedItself))
	}
	if progress.failed != "" {
		return waitingFor(&inplace.Problem{Reason: infrav1.AttemptNotSucceededReason, Message: progress.failed}), nil
	}
	result, err := p.startNext(ctx, progress)
	result.add(paused)
	if len(progress.pending)+len(progress.active) > 0 || progress.isWaiting {
		result.add(Result{After: retry})
	}
	return result, err
}

// startNext starts the upgrades of the next machines: of control planes one at a time while no other is upgraded, and before all others that can start, and of
// the others as many as are upgraded at a time. A Machine that waits keeps none of the others from starting, except that others are started together while one of
// a control plane waits: it has its turn in between.
func (p *pass) startNext(ctx context.Context, of progress) (Result, error) {
	if len(of.pending) == 0 || slices.ContainsFunc(of.active, (*Machine).isControlPlane) {
		return Result{}, nil
	}
	options := p.rollout.Spec.Options
	most := int(options.WithDefaults().MaxConcurrent)
	if len(of.active) < most {
		if _, problem, err := p.mayStart(ctx); problem != nil || err != nil {
			return waitingFor(problem), err
		}
	}
	controlPlanes, others := inTurn(of.pending)
	if len(controlPlanes) > 0 && len(of.active) > 0 {
		result, _, err := p.start(ctx, options, 0, controlPlanes[0])
		return result, err
	}
	all, started, err := p.start(ctx, options, 1, controlPlanes...)
	if started > 0 || err != nil {
		return all, err
	}
	result, _, err := p.start(ctx, options, most-len(of.active), others...)
	all.add(result)
	return all, err
}

// inTurn are machines of control planes, and others. Those come first that were left not Ready.
func inTurn(pending []*Machine) (controlPlanes, others []*Machine) {
	for _, isLeftNotReady := range []bool{true, false} {
		for _, machine := range pending {
			switch {
			case machine.isLeftNotReady != isLeftNotReady:
			case machine.isControlPlane():
				controlPlanes = append(controlPlanes, machine)
			default:
				others = append(others, machine)
			}
		}
	}
	return controlPlanes, others
}

// mostLooked is of how many machines that are not started yet it is looked for what they wait for, where there is no room for one.
const mostLooked = 32

// start the upgrades of machines, as many as there is room for. One that waits, or for which it fails, keeps no other from starting. After a conflict the
// next pass starts it in its turn. That a machine of a pool waits is decided by the cache, which costs no request; of control planes one is
// looked at where there is no room.
func (p *pass) start(ctx context.Context, options infrav1.NodeUpgradeOption, room int, machines ...*Machine) (all Result, started int, err error) {
	failed := []error{}
	for i, machine := range machines {
		if started >= room && i >= mostLooked {
			break
		}
		result, isStarted, err := p.startOne(ctx, machine, options, started < room)
		switch {
		case apierrors.IsConflict(err):
			return all, started, errors.Join(append(failed, err)...)
		case err != nil:
			failed = append(failed, err)
			continue
		}
		all.add(result)
		if isStarted {
			started++
		}
	}
	return all, started, errors.Join(failed...)
}

func (p *pass) startOne(ctx context.Context, machine *Machine, options infrav1.NodeUpgradeOption, hasRoom bool) (_ Result, started bool, _ error) {
	if owner.IsOfMachineSet(machine.Machine) || !hasRoom {
		reader := client.Reader(p.Client)
		if machine.isControlPlane() {
			reader = p.Live // whose kind is in no cache
		}
		if why, err := p.waitsFor(ctx, reader, machine.Machine, machine.Elemental, options); err != nil || why != "" {
			return p.waits(machine, why), false, err
		}
	}
	if !hasRoom {
		return Result{}, false, nil
	}
	result, err := p.startUpgrade(ctx, machine, options)
	return result, len(result.Problems) == 0, err
}

func waitingFor(problem *inplace.Problem) Result {
	if problem == nil {
		return Result{}
	}
	return Result{Problems: []inplace.Problem{*problem}, After: retry}
}

// isPaused says that the Cluster is paused, or gone; empty if neither. Nothing is written to its Machines then: it is being moved to
// another management cluster, perhaps.
func (p *pass) isPaused(ctx context.Context) (string, error) {
	cluster, err := existing.Get(ctx, p.Client, &clusterv1.Cluster{}, p.of.Template.Namespace, p.cluster, client.UnsafeDisableDeepCopy)
	return pausedOrGone(cluster, p.cluster), err
}

func pausedOrGone(cluster *clusterv1.Cluster, name string) string {
	switch {
	case cluster == nil:
		return "Cluster " + name + " does not exist"
	case annotations.IsPaused(cluster, cluster):
		return "Cluster " + name + " is paused"
	}
	return ""
}

// paused is a problem for machines that something is rolled out to.
func (p *pass) paused(why string) Result {
	_, hasImage := osversion.Image(p.of.OS)
	for i := range p.machines {
		if hasImage && p.isBehind(&p.machines[i]) {
			return waitingFor(&inplace.Problem{Reason: infrav1.WaitingForClusterReason, Message: why})
		}
	}
	return Result{After: retry}
}

// isBeingUpdated reports whether Cluster API is bringing a machine to the template, also where it has lost all of its marks.
func (p *pass) isBeingUpdated(ctx context.Context, of *Machine) (bool, error) {
	isMarked := owner.IsUpdating(of.Machine) || owner.IsUpdating(of.Elemental)
	isOurs := owner.IsNoted(of.Elemental) && !p.isRotated(of.Elemental)
	switch {
	case isMarked || isOurs:
		return !isOurs, nil
	case !osversion.Same(of.Elemental.Spec.OSVersionManagement, p.of.OS):
		return false, nil
	}
	return p.isUnfinished(ctx, of)
}

// isUnfinished reports whether an update to the template by Cluster API has not come to its end: the host has not reached the OS, which this driver has not
// assigned, or the attempt of Cluster API's hook has not ended well, and the host does not run the OS.
func (p *pass) isUnfinished(ctx context.Context, of *Machine) (bool, error) {
	if reached := owner.ReachedOS(of.Elemental); reached != "" && reached != p.hash {
		return true, nil
	}
	made, err := attempts.OnElementalMachine(ctx, p.Client, of.Elemental.Namespace, of.Elemental.Name)
	attempt := attempts.LastUpdate(made, p.of.Template.Name, p.of.OS)
	if err != nil || attempt == nil || attempt.PhaseNow() == infrav1.UpgradeSucceeded {
		return false, err
	}
	return !attempt.PhaseNow().IsEnd() || !clusterview.RunsItsOS(of.Elemental), nil
}

// mayStart returns the Cluster, or what keeps upgrades from starting in it, read live where it may have changed a moment ago.
func (p *pass) mayStart(ctx context.Context) (*clusterv1.Cluster, *inplace.Problem, error) {
	template := p.of.Template
	if _, owned := template.Labels[clusterv1.ClusterTopologyOwnedLabel]; owned {
		return nil, p.ofTopology(), nil
	}
	if p.driver != infrav1.DriverRancherDrain { // whose consent are the hooks that a user has listed
		closed, err := p.Namespaces.NotOptedIn(ctx, template.Namespace)
		switch {
		case err != nil:
			return nil, nil, err
		case closed != "":
			return nil, &inplace.Problem{Reason: infrav1.NamespaceNotOptedInReason, Message: closed}, nil
		}
	}
	cluster, err := existing.Get(ctx, p.Live, &clusterv1.Cluster{}, template.Namespace, p.cluster)
	if err != nil {
		return nil, nil, err
	}
	if why := pausedOrGone(cluster, p.cluster); why != "" {
		return nil, &inplace.Problem{Reason: infrav1.WaitingForClusterReason, Message: why}, nil
	}
	return cluster, nil, nil
}

// ofTopology is the problem of a template that a topology owns.
func (p *pass) ofTopology() *inplace.Problem {
	remedy := "and cannot upgrade these Machines in place: keep their former image in spec.topology.controlPlane.variables.overrides, " +
		"and upgrade their hosts by hand (docs/upgrade.md)"
	if !slices.ContainsFunc(p.machines, func(machine Machine) bool { return machine.isControlPlane() }) {
		remedy = "and upgrades these Machines itself: change its variables, or its class (docs/upgrade.md)"
	}
	return &inplace.Problem{Reason: infrav1.ManagedByTopologyReason, Message: fmt.Sprintf(
		"ElementalMachineTemplate %s belongs to the topology of Cluster %s, which would put it back, %s", p.of.Template.Name, p.cluster, remedy)}
}
