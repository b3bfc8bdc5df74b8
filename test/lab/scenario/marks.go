// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Marks are all changes that attempts make to the objects of a worker while they run.
type Marks struct {
	// On the Node.
	Unschedulable      bool
	CordonedBy, Paused string
	// PausedBy is the rollout that paused the Node.
	PausedBy string
	// On the Machine. Approved is the rollout for which a person approved the node.
	Approved                           string
	SkipRemediation, SkipRemediationBy bool
	// On the ElementalCluster.
	Slots int
	// On the ElementalHost: whether an attempt is requested, whether clusterctl move is blocked, and the trigger.
	Asked, Moveless bool
	Label           string
}

// Clean is the state after an attempt that succeeded.
var Clean = Marks{}

// Marks returns the marks on the objects of a worker. Marks of a deleted Machine are empty.
func (c *Cluster) Marks(ctx context.Context, worker Identity) (Marks, error) {
	machines, err := c.Machines(ctx)
	if err != nil {
		return Marks{}, err
	}
	machine := &clusterv1.Machine{}
	for i := range machines {
		if string(machines[i].UID) == worker.MachineUID {
			machine = &machines[i]
		}
	}
	host, owner, node := &infrav1.ElementalHost{}, &infrav1.ElementalCluster{}, &corev1.Node{}
	for object, name := range map[client.Object]string{host: worker.Node, owner: c.Options.Name} {
		if err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: name}, object); err != nil {
			return Marks{}, fmt.Errorf("reading %T %s: %w", object, name, err)
		}
	}
	if err := c.WorkloadKube().Get(ctx, client.ObjectKey{Name: worker.Node}, node); err != nil {
		return Marks{}, fmt.Errorf("reading Node %s: %w", worker.Node, err)
	}
	return marksOn(host, node, machine, owner), nil
}

func marksOn(host *infrav1.ElementalHost, node *corev1.Node, machine *clusterv1.Machine, owner *infrav1.ElementalCluster) Marks {
	_, skips := machine.Annotations[clusterv1.MachineSkipRemediationAnnotation]
	_, skipsBy := machine.Annotations[infrav1.SkipRemediationByAnnotation]
	_, moveless := host.Annotations[infrav1.BlockMoveAnnotation]
	return Marks{
		Unschedulable:   node.Spec.Unschedulable,
		CordonedBy:      node.Annotations[infrav1.CordonedByAnnotation],
		Paused:          node.Annotations[infrav1.NodeUpgradePauseAnnotation],
		PausedBy:        node.Annotations[infrav1.PausedByAnnotation],
		Approved:        machine.Annotations[infrav1.ApprovedRolloutAnnotation],
		SkipRemediation: skips, SkipRemediationBy: skipsBy,
		Slots: len(owner.Status.UpgradeSlots),
		Asked: host.Spec.Upgrade != nil, Moveless: moveless, Label: host.Labels[infrav1.InPlaceUpgradeLabel],
	}
}
