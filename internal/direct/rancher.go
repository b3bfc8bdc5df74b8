// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// follow begins with the machines whose Nodes Rancher drains. In which order, and how many at a time, is for Rancher to say; slots hold
// all the same. A machine that has not succeeded keeps no other from beginning: Rancher waits for it.
func (p *pass) follow(ctx context.Context, found progress) (Result, error) {
	result, err := p.reportUnheard(ctx, found.unheard)
	if err != nil {
		return Result{}, err
	}
	started, waiting, err := p.startDrained(ctx, found.pending)
	if err != nil {
		return Result{}, err
	}
	result.add(started)
	if len(found.failed) > 0 {
		result.add(waitingFor(&inplace.Problem{Reason: infrav1.AttemptNotSucceededReason, Message: p.failure(found.failed[0])}))
	}
	if waiting > 0 {
		problem, err := p.awaitDrains(ctx, waiting)
		if err != nil {
			return Result{}, err
		}
		result.add(waitingFor(problem))
	}
	if found.hasUnfinished {
		result.add(Result{After: retry})
	}
	return result, nil
}

// startDrained starts the upgrades of the machines whose Nodes Rancher drains, and counts the others.
func (p *pass) startDrained(ctx context.Context, pending []*Machine) (all Result, waiting int, err error) {
	for _, machine := range pending {
		drain, err := rancher.DrainOf(ctx, p.Drains, machine.Machine.Namespace, machine.Machine.Name)
		if err != nil {
			return Result{}, 0, err
		}
		if !drain.MayUpgrade() {
			waiting++
			continue
		}
		if _, problem, err := p.mayStart(ctx); problem != nil || err != nil {
			return waitingFor(problem), 0, err
		}
		requested, err := p.request(ctx, machine)
		if err != nil {
			return Result{}, 0, err
		}
		all.add(requested)
	}
	return all, waiting, nil
}

// reportUnheard says of which hosts nothing is heard while Rancher waits with their Nodes cordoned.
func (p *pass) reportUnheard(ctx context.Context, machines []*Machine) (Result, error) {
	result := Result{}
	for _, machine := range machines {
		drain, err := rancher.DrainOf(ctx, p.Drains, machine.Machine.Namespace, machine.Machine.Name)
		if err != nil {
			return Result{}, err
		}
		if drain.MayUpgrade() {
			result.add(p.waits(machine, "it has no ElementalHost, or that has not reported, and Rancher waits with its Node cordoned: is its elemental-agent running?"))
		}
	}
	return result, nil
}

// awaitDrains says what has Rancher drain the Nodes, and what of its options has to be changed before.
func (p *pass) awaitDrains(ctx context.Context, waiting int) (*inplace.Problem, error) {
	cluster, problem, err := p.mayStart(ctx)
	if problem != nil || err != nil {
		return problem, err
	}
	controlPlane, err := rancher.ControlPlaneOf(ctx, p.Live, cluster)
	switch {
	case err != nil:
		return nil, err
	case controlPlane == nil:
		return &inplace.Problem{Reason: infrav1.WaitingForClusterReason, Message: fmt.Sprintf("the RKEControlPlane of Cluster %s does not exist", p.cluster)}, nil
	}
	if missing := controlPlane.MissingHooks(); missing != "" {
		return &inplace.Problem{Reason: infrav1.DrainHooksMissingReason, Message: fmt.Sprintf("Cluster %s: Rancher does not ask for upgrades of the OS: "+
			"add to spec.rkeConfig.upgradeStrategy of its clusters.provisioning.cattle.io %s (docs/rancher.md)", p.cluster, missing)}, nil
	}
	message := fmt.Sprintf("Cluster %s: %d Machines are upgraded when Rancher drains their Nodes, as it does for another version of Kubernetes. For the OS alone raise "+
		"spec.rkeConfig.provisionGeneration of its clusters.provisioning.cattle.io", p.cluster, waiting)
	concurrency, err := p.concurrency(ctx, controlPlane, cluster)
	return &inplace.Problem{Reason: infrav1.WaitingForRancherReason, Message: message + concurrency}, err
}

// concurrency warns of Nodes that Rancher cordons, and that wait for a slot then.
func (p *pass) concurrency(ctx context.Context, of *rancher.ControlPlane, cluster *clusterv1.Cluster) (string, error) {
	options, where, err := owner.ClusterOptions(ctx, p.Client, cluster.Namespace, cluster.Name)
	if err != nil {
		return "", err
	}
	most := options.WithDefaults().MaxConcurrent
	above := of.Concurrency(most)
	if above == "" {
		return "", nil
	}
	return fmt.Sprintf(". Beware: %s, and maxConcurrent %d in %s: the other Nodes that Rancher cordons wait", above, most, where), nil
}
