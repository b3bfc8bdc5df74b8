// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settleTime is how long Cluster API is given to act on a write. An object that has not been written for
// this long is not about to be acted on: its controller is held up by an error or a pause, and the change
// that would end that must not be kept out. Cluster API acts within 2 s; the rest is for clocks, as the
// API server's and ours are compared.
const settleTime = 30 * time.Second

// QuietPoint says why the reference of an owner cannot be changed now, and is empty when it can. It
// reads live. At any other moment Cluster API 1.14 can delete a Machine instead of updating it: one that
// a MachineSet has above its spec.replicas, or one that has just been moved to another MachineSet.
func (o *Owners) QuietPoint(ctx context.Context, of Owner) (string, error) {
	fresh, err := o.reload(ctx, of)
	if err != nil {
		return "", err
	}
	switch kind := fresh.(type) {
	case machineDeployment:
		return o.machineDeploymentQuiet(ctx, kind)
	case kubeadmControlPlane:
		return o.unobserved(kind, kind.Status.ObservedGeneration), nil
	}
	return "", nil
}

func (o *Owners) machineDeploymentQuiet(ctx context.Context, md machineDeployment) (string, error) {
	if reason := o.unobserved(md, md.Status.ObservedGeneration); reason != "" {
		return reason, nil
	}
	sets, err := o.machineSets(ctx, md)
	if err != nil {
		return "", err
	}
	for i := range sets {
		if reason := o.machineSetQuiet(&sets[i]); reason != "" {
			return reason, nil
		}
	}
	machines, err := o.machineMetadata(ctx, md)
	if err != nil {
		return "", err
	}
	if moving := withAnnotation(machines, clusterv1.PendingAcknowledgeMoveAnnotation); len(moving) > 0 {
		return fmt.Sprintf("Machine %s is being moved to another MachineSet", strings.Join(moving, ", ")), nil
	}
	return "", nil
}

func (o *Owners) machineSetQuiet(set *clusterv1.MachineSet) string {
	wanted, present := ptr.Deref(set.Spec.Replicas, 0), ptr.Deref(set.Status.Replicas, 0)
	switch {
	case present > wanted:
		return fmt.Sprintf("MachineSet %s has %d Machines and is to have %d", set.Name, present, wanted)
	case present < wanted && o.writtenRecently(set):
		return fmt.Sprintf("MachineSet %s is growing to %d Machines", set.Name, wanted)
	case set.Status.ObservedGeneration != set.Generation && o.writtenRecently(set):
		return fmt.Sprintf("MachineSet %s was changed and has not been acted on yet", set.Name)
	}
	return ""
}

func (o *Owners) unobserved(of Owner, observed int64) string {
	if of.Object().GetGeneration() == observed || !o.writtenRecently(of.Object()) {
		return ""
	}
	return Describe(of) + " was changed and has not been acted on yet"
}

// writtenRecently says whether anything in an object was written within settleTime.
func (o *Owners) writtenRecently(object client.Object) bool {
	last := object.GetCreationTimestamp().Time
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return o.Clock.Since(last) < settleTime
}
