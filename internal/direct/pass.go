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
	// created is how many attempts the pass has made.
	created int
}

// run a step, unless the Cluster is paused.
func (p *pass) run(ctx context.Context) (Result, error) {
	if why, err := p.isPaused(ctx); err != nil {
		return Result{}, err
	} else if why != "" {
		return p.paused(why), nil
	}
	left, err := p.leaveUpdated(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := p.record(ctx); err != nil {
		return Result{}, err
	}
	if osversion.Image(p.of.OS) == "" {
		return Result{}, nil // there is nothing that a host could be upgraded to
	}
	result, err := p.step(ctx)
	if !apierrors.IsConflict(err) { // or the next pass notes what is left, on what it reads then
		err = errors.Join(err, p.saveAll(ctx))
	}
	p.announce()
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

// step assigns the content of the template to the machines that have another, and makes the attempts of all that have none.
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
	if err := p.recordStop(ctx, progress.failed); err != nil {
		return Result{}, err
	}
	result := Result{}
	if len(progress.failed) > 0 {
		result.add(waitingFor(&inplace.Problem{Reason: infrav1.AttemptNotSucceededReason, Message: p.failure(progress.failed[0])}))
	}
	drains, drainsErr := p.awaitDrains(ctx, &progress)
	result.add(drains)
	requested, err := p.requestAll(ctx, progress.pending)
	result.add(requested)
	for _, machine := range progress.paused {
		result.add(p.waits(machine, isPausedItself))
	}
	if progress.isBusy() {
		result.add(Result{After: retry})
	}
	return result, errors.Join(err, drainsErr)
}

// requestAll makes the attempts of machines. One that waits, or for which it fails, keeps no other from its attempt. After a conflict the next pass goes on.
func (p *pass) requestAll(ctx context.Context, pending []*Machine) (all Result, err error) {
	if len(pending) == 0 {
		return Result{}, nil
	}
	if _, problem, err := p.mayStart(ctx); problem != nil || err != nil {
		return waitingFor(problem), err
	}
	if isCurrent, err := p.isCurrent(ctx); err != nil || !isCurrent {
		return Result{After: soon}, err
	}
	errs := []error{}
	for _, machine := range pending {
		result, err := p.request(ctx, machine)
		errs = append(errs, err)
		if apierrors.IsConflict(err) {
			break
		}
		all.add(result)
	}
	return all, errors.Join(errs...)
}

// isCurrent reports whether the template, read live, still has the OS: the cache may have that of a moment ago.
func (p *pass) isCurrent(ctx context.Context) (bool, error) {
	template, err := existing.Get(ctx, p.Live, &infrav1.ElementalMachineTemplate{}, p.of.Template.Namespace, p.of.Template.Name)
	return template != nil && osversion.Same(osversion.OfTemplate(template), p.of.OS), err
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
	hasImage := osversion.Image(p.of.OS) != ""
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
