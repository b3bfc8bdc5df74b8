// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// Where Rancher drains the Nodes, it picks them, in its own order. The attempts exist from the start, and wait at Admit for the drain of their Node.

// awaitDrains leaves those machines pending whose tier of Nodes has both hooks in its drain options: listing them is the consent of a user to upgrades in place. It
// says which are missing, and what has Rancher drain the Nodes.
func (p *pass) awaitDrains(ctx context.Context, found *progress) (Result, error) {
	if p.driver != infrav1.DriverRancherDrain || len(found.pending)+len(found.inService) == 0 {
		return Result{}, nil
	}
	pending := found.pending
	found.pending, found.hasUnfinished = nil, true
	cluster, problem, err := p.mayStart(ctx)
	if problem != nil || err != nil {
		return waitingFor(problem), err
	}
	controlPlane, err := rancher.ControlPlaneOf(ctx, p.Live, cluster)
	switch {
	case err != nil:
		return Result{}, err
	case controlPlane == nil:
		return waitingFor(&inplace.Problem{Reason: infrav1.WaitingForClusterReason, Message: "the RKEControlPlane of Cluster " + p.cluster + " does not exist"}), nil
	}
	missing := sets.New[string]()
	lacksHooks := func(machine *Machine) bool {
		hooks := controlPlane.MissingHooks(rancher.TierOf(machine.Machine))
		missing.Insert(hooks...)
		return len(hooks) > 0
	}
	found.pending = slices.DeleteFunc(pending, lacksHooks)
	waiting := len(found.pending) + len(slices.DeleteFunc(slices.Clone(found.inService), lacksHooks))
	result := Result{}
	if missing.Len() > 0 {
		result.add(waitingFor(&inplace.Problem{Reason: infrav1.DrainHooksMissingReason, Message: fmt.Sprintf("Cluster %s: Rancher does not ask for upgrades of the OS: "+
			"add to spec.rkeConfig.upgradeStrategy of its clusters.provisioning.cattle.io %s (docs/rancher.md)", p.cluster, strings.Join(sets.List(missing), ", "))}))
	}
	if waiting > 0 {
		concurrency, err := p.concurrency(ctx, controlPlane, cluster)
		if err != nil {
			return result, err
		}
		result.add(waitingFor(&inplace.Problem{Reason: infrav1.WaitingForRancherReason, Message: fmt.Sprintf("Cluster %s: %d Machines are upgraded when Rancher drains their Nodes%s%s",
			p.cluster, waiting, rancher.WhenItDrains(p.cluster), concurrency)}))
	}
	return result, nil
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

// stoppedInDrains says what an attempt that has not succeeded stops, and what has Rancher go on without it.
func (p *pass) stoppedInDrains(attempt *infrav1.ElementalHostUpgrade) (stopped, without string) {
	if attempt.Spec.Cancel || attempt.Spec.Release {
		return "Rancher goes on without it", ""
	}
	if attempt.PhaseNow() != infrav1.UpgradeHostLost {
		without = "; to have Rancher go on without it, set spec.cancel"
	}
	stopped = "Rancher waits in its drain of the Node"
	if !attempts.IsAwaitedByRancher(attempt) {
		stopped = "No other host fetches the image of this template in Cluster " + p.cluster + ", and " + stopped
	}
	return stopped, without
}
