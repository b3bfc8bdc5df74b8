// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// aged is how old what is listed in a workload cluster may be where a rollout is about to start: it is looked at every 2 s
// while an owner waits for a quiet point, and each node is looked at again before it is touched.
const aged = 10 * time.Second

// preflightAction is what was done when an event says that a check was waived.
const preflightAction = "Preflight"

// preflight says what an owner waits for whose rollout could not start now. One that has begun does not wait here: it waits
// before each of its nodes, and another image is the way out of it. Nor does one wait for a workload cluster that does not
// answer: its nodes are not touched until it does. Where a Cluster cannot be read, its own owners wait, and no others.
func (r *Reconciler) preflight(ctx context.Context, seen *observation, candidate placed) *waiting {
	if r.Outlook == nil {
		return nil
	}
	done, _ := r.limit.Begin(client.ObjectKey{Namespace: seen.template.Namespace, Name: candidate.ClusterName()}, client.ObjectKeyFromObject(seen.template))
	if done == nil {
		why := waitForCluster("%s waits until Cluster %s has been looked at for other templates", owner.Describe(candidate), candidate.ClusterName())
		why.reason, why.soon, why.unlooked = infrav1.WaitingForQuietPointReason, true, true
		return why
	}
	defer done()
	ahead, err := r.Outlook.OfOwner(ctx, candidate.Owner, seen.template.Spec.Template.Spec.OSVersionManagement, aged, seen.template)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to look at the Cluster of an owner, trying again", "owner", klog.KObj(candidate.Object()))
		why := waitForCluster("%s waits until Cluster %s can be looked at, see the log of the manager", owner.Describe(candidate), candidate.ClusterName())
		if workload.IsFailure(err) {
			why = waitForCluster("%s waits: %s", owner.Describe(candidate), workload.Unreached(candidate.ClusterName(), err))
		}
		why.byOthers = true
		return why
	}
	if ahead == nil || ahead.UnderWay {
		return nil
	}
	if blockers := ahead.Blockers(); len(blockers) > 0 {
		return &waiting{
			reason:  infrav1.PreflightBlockedReason,
			message: owner.Describe(candidate) + ": " + strings.Join(outlook.DescribeAll(blockers), "; "),
		}
	}
	for _, waived := range ahead.Waived {
		r.Recorder.Eventf(seen.template, candidate.Object(), corev1.EventTypeWarning, infrav1.EventPreflightWaived, preflightAction,
			"%s", shortened("a waiver lets "+owner.Describe(candidate)+" go on in spite of "+outlook.Name(waived)))
	}
	return nil
}
