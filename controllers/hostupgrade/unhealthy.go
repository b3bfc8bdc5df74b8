// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// maxUnhealthy is the bound of status.unhealthyBefore.
const maxUnhealthy = 64

// recordUnhealthy records what is not healthy on the node that is about to be cordoned, and reports whether there is anything that has to be stored
// first. An attempt whose node is cordoned, or was, records nothing: what it has done to the node may be what it would find.
func (r *Reconciler) recordUnhealthy(ctx context.Context, o *observation) (isNew bool, err error) {
	if len(o.upgrade.Status.UnhealthyBefore) > 0 || attempts.HasEntered(o.upgrade, stepEvacuateVMs) || workload.CordonedBy(o.node) == o.attempt {
		return false, nil
	}
	found, err := o.workload.Unhealthy(ctx, o.node, o.now)
	if err != nil || len(found) == 0 {
		return false, err
	}
	o.upgrade.Status.UnhealthyBefore = found[:min(len(found), maxUnhealthy)]
	return true, nil
}

// isExcused reports whether something was unhealthy before the attempt has changed anything. What is, still is: the attempt warns of it.
func (o *observation) isExcused(unhealthy infrav1.UnhealthyObject) bool {
	if !slices.Contains(o.upgrade.Status.UnhealthyBefore, unhealthy) {
		return false
	}
	if !slices.Contains(o.excused, unhealthy) {
		o.excused = append(o.excused, unhealthy)
	}
	return true
}

// isReadyAsBefore reports whether the Node is Ready, or was not either before. A kubelet that does not answer is not as it was.
func (o *observation) isReadyAsBefore() bool {
	return workload.IsReady(o.node) || !workload.IsUnreachable(o.node) && o.isExcused(workload.UnhealthyNode(o.node))
}

// unreadyDaemonPods describes the DaemonSet Pods that have to become Ready; empty if there are none.
func (r *Reconciler) unreadyDaemonPods(ctx context.Context, o *observation) (string, error) {
	pods, err := o.workload.UnreadyDaemonPods(ctx, o.node.Name)
	if err != nil {
		return "", err
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return o.isExcused(workload.DaemonSetOf(pod)) })
	if len(pods) == 0 {
		return "", nil
	}
	return workload.PodList(pods), nil
}

// unattached describes the volumes that have to be attached.
func (r *Reconciler) unattached(ctx context.Context, o *observation) ([]string, error) {
	volumes, err := o.workload.Unattached(ctx, o.node.Name)
	names := []string{}
	for _, volume := range volumes {
		if !o.isExcused(workload.UnhealthyVolume(volume.Name)) {
			names = append(names, volume.String())
		}
	}
	return names, err
}

// stillUnhealthy warns of what was not healthy before and is not yet; empty where nothing is.
func (o *observation) stillUnhealthy() string {
	if len(o.excused) == 0 {
		return ""
	}
	return wire.WarningPrefix + "as before the upgrade, " + workload.DescribeUnhealthy(o.excused)
}
