// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
// a MachineSet has above its spec.replicas, one that has just been moved to another MachineSet, or an
// unhealthy one of a control plane. It lasts while the owner is held; without that it may be over at once.
//
// Machines that are being deleted do not count, or a drain that never ends would keep a bad image from
// being replaced by a good one: whether Cluster API deletes or moves what a MachineSet has too many, it
// takes those first (machineset_deletion_order.go and startMoveMachines of Cluster API 1.14).
func (o *Owners) QuietPoint(ctx context.Context, of Owner) (string, error) {
	fresh, err := o.reload(ctx, of)
	if err != nil {
		return "", err
	}
	switch kind := fresh.(type) {
	case machineDeployment:
		return o.machineDeploymentQuiet(ctx, kind)
	case kubeadmControlPlane:
		return o.controlPlaneQuiet(ctx, kind)
	}
	return "", nil
}

func (o *Owners) machineDeploymentQuiet(ctx context.Context, md machineDeployment) (string, error) {
	// Once it is held, Cluster API has ended what it was about, and what it has not acted on, it will not.
	if reason := o.unobserved(md, md.Status.ObservedGeneration); reason != "" && !isHeld(md) {
		return reason, nil
	}
	sets, machines, err := o.parts(ctx, md)
	if err != nil {
		return "", err
	}
	for i := range sets {
		if reason := o.machineSetQuiet(&sets[i], machines); reason != "" {
			return reason, nil
		}
	}
	if moving := withAnnotation(machines, clusterv1.PendingAcknowledgeMoveAnnotation); len(moving) > 0 {
		return fmt.Sprintf("Machine %s is being moved to another MachineSet", strings.Join(moving, ", ")), nil
	}
	return "", nil
}

func (o *Owners) machineSetQuiet(set *clusterv1.MachineSet, machines []metav1.PartialObjectMetadata) string {
	wanted, present := ptr.Deref(set.Spec.Replicas, 0), ptr.Deref(set.Status.Replicas, 0)
	staying := remaining(set, machines)
	switch {
	case staying > wanted:
		return fmt.Sprintf("MachineSet %s has %d Machines and is to have %d", set.Name, staying, wanted)
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
