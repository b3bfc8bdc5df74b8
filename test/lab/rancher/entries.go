// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// entry is a machine with its plan Secret, as the planner has read them.
type entry struct {
	machine *clusterv1.Machine
	secret  *corev1.Secret
	desired []byte
}

// load reads the machines of a control plane that have plan Secrets, the oldest first.
func (p *planner) load(ctx context.Context, namespace string, spec planeSpec) ([]*entry, error) {
	machines := &clusterv1.MachineList{}
	selector := client.MatchingLabels{clusterv1.ClusterNameLabel: spec.ClusterName}
	if err := p.kube.List(ctx, machines, client.InNamespace(namespace), selector); err != nil {
		return nil, fmt.Errorf("listing Machines of Cluster %s: %w", spec.ClusterName, err)
	}
	desired, err := encodePlan(spec)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(machines.Items, func(a, b clusterv1.Machine) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	entries := []*entry{}
	for i := range machines.Items {
		machine := &machines.Items[i]
		if machine.Spec.Bootstrap.ConfigRef.Kind != BootstrapKind.Kind || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		secret := &corev1.Secret{}
		err := p.live.Get(ctx, PlanSecret(machine), secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the plan of Machine %s: %w", machine.Name, err)
		}
		entries = append(entries, &entry{machine: machine, secret: secret, desired: desired})
	}
	return entries, nil
}

func (e *entry) isEtcd() bool         { return e.secret.Labels[EtcdLabel] == roleValue }
func (e *entry) isControlPlane() bool { return e.secret.Labels[ControlPlaneLabel] == roleValue }
func (e *entry) isInitNode() bool     { return e.secret.Labels[InitNodeLabel] == roleValue }
func (e *entry) isOnlyWorker() bool   { return !e.isEtcd() && !e.isControlPlane() }

func (e *entry) hasPlan() bool { return len(e.secret.Data[planKey]) > 0 }

// isChanged reports whether its plan differs from the one that was delivered, whether or not the agent has it.
func (e *entry) isChanged() bool { return !bytes.Equal(e.secret.Data[planKey], e.desired) }

// isInDrain reports whether a drain is under way; drain-done alone is none.
func (e *entry) isInDrain() bool {
	for _, key := range []string{PreDrainAnnotation, PostDrainAnnotation, DrainOptionsAnnotation, UncordonAnnotation} {
		if e.secret.Annotations[key] != "" {
			return true
		}
	}
	return false
}

func (e *entry) isUnavailable() bool {
	return !isApplied(e.secret) || e.isInDrain() || !e.isChanged() && !isHealthy(e.secret)
}

// isDrainNeeded reports whether the applied plan differs in what a node is drained for.
func (e *entry) isDrainNeeded() bool {
	applied := drainHash(e.secret.Data[appliedPlanKey])
	return applied != "" && applied != drainHash(e.desired)
}
