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

// outOfOrder is why the upgrade of the node must not start now according to the ElementalClusterUpgrade that its Cluster has, as the reader has it,
// or to one that was cancelled; nil if nothing stands against it. Two nodes never take the last place of a stage: the plan counts those that
// have a slot, and whoever takes one after the slots were read has a conflict.
func (r *Reconciler) outOfOrder(ctx context.Context, o *observation, reader client.Reader) (*hold, error) {
	active, err := clusterupgrade.Of(ctx, reader, o.clusterKey())
	if err != nil {
		return nil, err
	}
	concerned := slices.IndexFunc(active, func(u infrav1.ElementalClusterUpgrade) bool { return clusterupgrade.IsFor(&u, o.upgrade) })
	switch {
	case concerned < 0:
		return r.heldOver(ctx, o, reader)
	case concerned > 0: // what it holds is marked before it ends
		return infrav1.NewHold(infrav1.HoldUpgradeReplaced, "ElementalClusterUpgrade/"+active[0].Name,
			fmt.Sprintf("waiting for ElementalClusterUpgrade %s, which takes the place of %s", active[0].Name, active[concerned].Name)), nil
	}
	plan, err := clusterupgrade.Read(ctx, r.Client, &active[0], o.elementalCluster.Status.UpgradeSlots)
	if err != nil {
		return nil, err
	}
	return byUpgrade(plan.Hold(o.upgrade.Spec.MachineName, o.now), active[0].Name), nil
}

// byUpgrade names the ElementalClusterUpgrade in the message of its hold.
func byUpgrade(held *hold, name string) *hold {
	if held != nil {
		held.Message = "waiting for ElementalClusterUpgrade " + name + ": " + held.Message
	}
	return held
}

// closedGate is the gate with an object of the cluster's upgrade that is closed now; nil if none is. What its status says, which is known to be
// open by now, may be old by as much as it is looked at.
func (r *Reconciler) closedGate(ctx context.Context, o *observation) (*hold, error) {
	governing, err := clusterupgrade.Governing(ctx, r.APIReader, o.clusterKey())
	if err != nil || governing == nil || !clusterupgrade.IsFor(governing, o.upgrade) {
		return nil, err
	}
	verdicts, err := gate.Evaluator{Workload: r.Workload, Upgrade: governing, Now: o.now}.Objects(ctx)
	for _, verdict := range verdicts {
		if verdict.Closed != "" {
			return byUpgrade(infrav1.NewHold(infrav1.HoldGateClosed, "ElementalClusterUpgrade/"+governing.Name,
				clusterupgrade.SayClosed(verdict.Name, verdict.Closed)), governing.Name), nil
		}
	}
	return nil, err
}

// observeClusterDigest looks up the digest that all nodes of a cluster's upgrade get.
func (r *Reconciler) observeClusterDigest(ctx context.Context, o *observation) error {
	governing, err := clusterupgrade.Governing(ctx, r.Client, o.clusterKey())
	if err == nil && governing != nil && clusterupgrade.IsFor(governing, o.upgrade) {
		o.clusterDigest = clusterupgrade.Digest(governing)
	}
	return err
}

// heldOver is the ElementalClusterUpgrade that was cancelled before the upgrade of the node started; nil if none was. The mark may be younger than
// what the cache has of the template.
func (r *Reconciler) heldOver(ctx context.Context, o *observation, reader client.Reader) (*hold, error) {
	name := o.upgrade.Spec.TemplateName
	if name == "" {
		return nil, nil
	}
	template, err := existing.Get(ctx, reader, &infrav1.ElementalMachineTemplate{}, o.upgrade.Namespace, name)
	if err != nil || template == nil || template.Annotations[infrav1.HeldByAnnotation] == "" {
		return nil, err
	}
	cancelled := template.Annotations[infrav1.HeldByAnnotation]
	return infrav1.NewHold(infrav1.HoldUpgradeCancelled, "ElementalClusterUpgrade/"+cancelled,
		fmt.Sprintf("ElementalClusterUpgrade %s was cancelled before this node: patch its template to another OS, create another "+
			"ElementalClusterUpgrade, or remove annotation %s of ElementalMachineTemplate %s", cancelled, infrav1.HeldByAnnotation, name)), nil
}
