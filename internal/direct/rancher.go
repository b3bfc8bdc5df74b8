// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// Where Rancher drains the Nodes, it picks them, in its own order. The attempts exist from the start, and wait at Admit for the drain of their Node.

// consented are the machines whose tier of Nodes has both hooks in its drain options. Listing them is the consent of a user to upgrades in place.
func (p *pass) consented(ctx context.Context, cluster *clusterv1.Cluster, pending []*Machine) (consented []*Machine, problem *inplace.Problem, err error) {
	if p.driver != infrav1.DriverRancherDrain {
		return pending, nil, nil
	}
	controlPlane, problem, err := p.ranchers(ctx, cluster)
	if problem != nil || err != nil {
		return nil, problem, err
	}
	missing := []string{}
	for _, machine := range pending {
		lacks := controlPlane.MissingHooks(rancher.TierOf(machine.Machine))
		switch {
		case lacks == "":
			consented = append(consented, machine)
		case !slices.Contains(missing, lacks):
			missing = append(missing, lacks)
		}
	}
	if len(missing) > 0 {
		problem = &inplace.Problem{Reason: infrav1.DrainHooksMissingReason, Message: fmt.Sprintf("Cluster %s: Rancher does not ask for upgrades of the OS: "+
			"add to spec.rkeConfig.upgradeStrategy of its clusters.provisioning.cattle.io %s (docs/rancher.md)", p.cluster, strings.Join(missing, ", "))}
	}
	return consented, problem, nil
}

// ranchers is the RKEControlPlane of the Cluster.
func (p *pass) ranchers(ctx context.Context, cluster *clusterv1.Cluster) (*rancher.ControlPlane, *inplace.Problem, error) {
	controlPlane, err := rancher.ControlPlaneOf(ctx, p.Live, cluster)
	if err == nil && controlPlane == nil {
		return nil, &inplace.Problem{Reason: infrav1.WaitingForClusterReason, Message: fmt.Sprintf("the RKEControlPlane of Cluster %s does not exist", p.cluster)}, nil
	}
	return controlPlane, nil, err
}

// awaitDrains says what has Rancher drain the Nodes of attempts that have not taken theirs out of service.
func (p *pass) awaitDrains(ctx context.Context, waiting int) (Result, error) {
	if p.driver != infrav1.DriverRancherDrain || waiting == 0 {
		return Result{}, nil
	}
	cluster, problem, err := p.mayStart(ctx)
	if problem != nil || err != nil {
		return waitingFor(problem), err
	}
	controlPlane, problem, err := p.ranchers(ctx, cluster)
	if problem != nil || err != nil {
		return waitingFor(problem), err
	}
	message := fmt.Sprintf("Cluster %s: %d Machines are upgraded when Rancher drains their Nodes, as it does for another version of Kubernetes. For the OS alone raise "+
		"spec.rkeConfig.provisionGeneration of its clusters.provisioning.cattle.io", p.cluster, waiting)
	concurrency, err := p.concurrency(ctx, controlPlane, cluster)
	return waitingFor(&inplace.Problem{Reason: infrav1.WaitingForRancherReason, Message: message + concurrency}), err
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
