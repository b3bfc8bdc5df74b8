// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusterupgrades,verbs=get;list;watch

// outOfOrder says why the node must not be begun now according to the ElementalClusterUpgrade that its Cluster has, as the reader has it, or to
// one that was cancelled; empty if nothing stands against it. Two nodes never take the last place of a stage: the plan counts those that
// have a slot, and whoever takes one after the slots were read has a conflict.
func (r *Reconciler) outOfOrder(ctx context.Context, o *observation, reader client.Reader) (string, error) {
	governing, err := clusterupgrade.Governing(ctx, reader, o.clusterKey())
	if err != nil {
		return "", err
	}
	if governing == nil || !clusterupgrade.IsFor(governing, o.upgrade) {
		return o.heldOver(), nil
	}
	plan, err := clusterupgrade.Read(ctx, r.Client, governing, o.elementalCluster.Status.UpgradeSlots)
	if err != nil {
		return "", err
	}
	if why := plan.Holds(o.upgrade.Spec.MachineName, o.now); why != "" {
		return "waiting for ElementalClusterUpgrade " + governing.Name + ": " + why, nil
	}
	return "", nil
}

// heldOver says which ElementalClusterUpgrade was cancelled before the node had begun; empty if none was.
func (o *observation) heldOver() string {
	if o.template == nil {
		return ""
	}
	by := o.template.Annotations[infrav1.HeldByAnnotation]
	if by == "" {
		return ""
	}
	return fmt.Sprintf("ElementalClusterUpgrade %s was cancelled before this node: patch its template to another OS, create another "+
		"ElementalClusterUpgrade, or remove annotation %s of ElementalMachineTemplate %s", by, infrav1.HeldByAnnotation, o.template.Name)
}
