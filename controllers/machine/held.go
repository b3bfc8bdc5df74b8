// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// heldBy says which nodes the turn of a machine waits for, because they are paused, and how they are resumed; empty
// where it waits for none, as where the template was patched. Cluster API, which waits until they are updated, shows nothing of it.
func (r *Reconciler) heldBy(ctx context.Context, s *scope, upgrade string) (string, error) {
	pool := pausing.Pool(s.machine.Labels)
	if s.owner == nil || upgrade != "" || pool == "" {
		return "", nil
	}
	view := clusterview.New(r.Client, client.ObjectKey{Namespace: s.owner.Namespace, Name: s.owner.Spec.ClusterName})
	unfinished, err := activeIn(ctx, view, pool)
	if err != nil {
		return "", err
	}
	blocking := pausing.Blocking(unfinished, attempts.WaitsForApproval)
	if len(blocking) == 0 {
		return "", nil
	}
	want, found, err := view.WantsOS(ctx, s.owner)
	if err != nil || !found || want.TemplateName == owner.MadeFrom(s.machine) {
		return "", err
	}
	remedies := make([]string, 0, len(blocking))
	for _, attempt := range blocking {
		remedies = append(remedies, pausing.Remedy(attempt.Status.NodeName, attempt.Name))
	}
	return strings.Join(remedies, "; ") + waysAround(pool, len(blocking)), nil
}

// waysAround says how the other nodes of a pool are upgraded while some are paused, which Cluster API counts as unavailable.
func waysAround(pool string, paused int) string {
	name, isMachineDeployment := strings.CutPrefix(pool, pausing.MachineDeploymentPool)
	if !isMachineDeployment {
		return ""
	}
	return fmt.Sprintf(". To have the others upgraded meanwhile, set maxUnavailable %d in spec.rollout.strategy.rollingUpdate of MachineDeployment %s", paused+1, name)
}

// activeIn are the attempts in a pool of a Cluster that are under way.
func activeIn(ctx context.Context, view *clusterview.View, pool string) ([]*infrav1.ElementalHostUpgrade, error) {
	ofCluster, err := view.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	found := []*infrav1.ElementalHostUpgrade{}
	for i := range ofCluster {
		attempt := &ofCluster[i]
		if !attempt.PhaseNow().IsActive() {
			continue
		}
		if of, err := poolOf(ctx, view, attempt); err != nil {
			return nil, err
		} else if of == pool {
			found = append(found, attempt)
		}
	}
	return found, nil
}

// poolOf an attempt; empty where its machine is gone.
func poolOf(ctx context.Context, view *clusterview.View, attempt *infrav1.ElementalHostUpgrade) (string, error) {
	machine, err := view.ElementalMachine(ctx, attempt.Spec.ElementalMachineName)
	if err != nil || machine == nil {
		return "", err
	}
	return pausing.Pool(machine.Labels), nil
}

// pausedToWaiting maps an attempt whose node is paused, or was so until now, to the machines of its pool: they wait for
// it, or do not any more. An attempt that is not paused matters as long as another one of the pool is. Of one whose
// machine is gone the pool is not known any more: it is mapped to all that wait.
func (r *Reconciler) pausedToWaiting(ctx context.Context, object client.Object) []reconcile.Request {
	attempt, ok := object.(*infrav1.ElementalHostUpgrade)
	if !ok {
		return nil
	}
	view := clusterview.New(r.Client, clusterOf(attempt))
	pool, err := poolOf(ctx, view, attempt)
	if err != nil {
		return nil
	}
	if pool == "" {
		return machinesMatching(ctx, view, waitsForNode)
	}
	if !attempts.WaitsForApproval(attempt) {
		others, err := activeIn(ctx, view, pool)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list the attempts of a pool")
			return nil
		}
		if !anyPaused(others) {
			return nil
		}
	}
	return machinesMatching(ctx, view, func(machine *infrav1.ElementalMachine) bool { return pausing.Pool(machine.Labels) == pool })
}

func clusterOf(attempt *infrav1.ElementalHostUpgrade) client.ObjectKey {
	return client.ObjectKey{Namespace: attempt.Namespace, Name: attempt.Spec.ClusterName}
}

func waitsForNode(machine *infrav1.ElementalMachine) bool {
	return conditions.GetReason(machine, infrav1.OSUpToDateCondition) == infrav1.WaitingForNodeReason
}

func anyPaused(all []*infrav1.ElementalHostUpgrade) bool {
	return slices.ContainsFunc(all, attempts.WaitsForApproval)
}
