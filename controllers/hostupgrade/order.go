// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade/gate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusterupgrades,verbs=get;list;watch

// outOfOrder says why the node must not be begun now according to the ElementalClusterUpgrade that its Cluster has, as the reader has it, or to
// one that was cancelled; empty if nothing stands against it. Two nodes never take the last place of a stage: the plan counts those that
// have a slot, and whoever takes one after the slots were read has a conflict.
func (r *Reconciler) outOfOrder(ctx context.Context, o *observation, reader client.Reader) (string, error) {
	active, err := clusterupgrade.Of(ctx, reader, o.clusterKey())
	if err != nil {
		return "", err
	}
	concerned := slices.IndexFunc(active, func(u infrav1.ElementalClusterUpgrade) bool { return clusterupgrade.IsFor(&u, o.upgrade) })
	switch {
	case concerned < 0:
		return r.heldOver(ctx, o, reader)
	case concerned > 0: // what it holds is marked before it ends
		return fmt.Sprintf("waiting for ElementalClusterUpgrade %s, which takes the place of %s", active[0].Name, active[concerned].Name), nil
	}
	plan, err := clusterupgrade.Read(ctx, r.Client, &active[0], o.elementalCluster.Status.UpgradeSlots)
	if err != nil {
		return "", err
	}
	if why := plan.Holds(o.upgrade.Spec.MachineName, o.now); why != "" {
		return "waiting for ElementalClusterUpgrade " + active[0].Name + ": " + why, nil
	}
	return "", nil
}

// closedGate says which gate with an object the cluster's upgrade has that is closed now; empty if none is. What its status says, which is known to be
// open by now, may be old by as much as it is looked at.
func (r *Reconciler) closedGate(ctx context.Context, o *observation) (string, error) {
	governing, err := clusterupgrade.Governing(ctx, r.APIReader, o.clusterKey())
	if err != nil || governing == nil || !clusterupgrade.IsFor(governing, o.upgrade) {
		return "", err
	}
	verdicts, err := gate.Evaluator{Workload: r.Workload, Upgrade: governing, Now: o.now}.Objects(ctx)
	for _, verdict := range verdicts {
		if verdict.Closed != "" {
			return "waiting for ElementalClusterUpgrade " + governing.Name + ": " + clusterupgrade.SayClosed(verdict.Name, verdict.Closed), nil
		}
	}
	return "", err
}

// observeClusterDigest looks up the digest that all nodes of a cluster's upgrade get.
func (r *Reconciler) observeClusterDigest(ctx context.Context, o *observation) error {
	governing, err := clusterupgrade.Governing(ctx, r.Client, o.clusterKey())
	if err == nil && governing != nil && clusterupgrade.IsFor(governing, o.upgrade) {
		o.clusterDigest = clusterupgrade.Digest(governing)
	}
	return err
}

// heldOver says which ElementalClusterUpgrade was cancelled before the node had begun; empty if none was. The mark may be younger than what the
// cache has of the template.
func (r *Reconciler) heldOver(ctx context.Context, o *observation, reader client.Reader) (string, error) {
	name := o.upgrade.Spec.TemplateName
	if name == "" {
		return "", nil
	}
	template, err := existing.Get(ctx, reader, &infrav1.ElementalMachineTemplate{}, o.upgrade.Namespace, name)
	if err != nil || template == nil || template.Annotations[infrav1.HeldByAnnotation] == "" {
		return "", err
	}
	return fmt.Sprintf("ElementalClusterUpgrade %s was cancelled before this node: patch its template to another OS, create another "+
		"ElementalClusterUpgrade, or remove annotation %s of ElementalMachineTemplate %s",
		template.Annotations[infrav1.HeldByAnnotation], infrav1.HeldByAnnotation, name), nil
}
