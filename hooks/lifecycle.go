// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/extensionserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// delayRetrySeconds is the interval at which Cluster API asks again whether an upgrade of Kubernetes may start.
const delayRetrySeconds = 15

// logCommand prints the logs of all replicas since Cluster API's last request.
const logCommand = "kubectl --namespace elemental-system logs --selector control-plane=controller-manager --since 1m --tail -1"

// BeforeClusterUpgrade delays the upgrade of Kubernetes while a check blocks any node of the cluster.
func (h *Handlers) BeforeClusterUpgrade(ctx context.Context, req *runtimehooksv1.BeforeClusterUpgradeRequest, resp *runtimehooksv1.BeforeClusterUpgradeResponse) {
	h.delayWhileBlocked(ctx, client.ObjectKeyFromObject(&req.Cluster), resp, func(*clusterv1.Machine) bool { return true })
}

// BeforeControlPlaneUpgrade is the same for the nodes of the control plane.
func (h *Handlers) BeforeControlPlaneUpgrade(ctx context.Context, req *runtimehooksv1.BeforeControlPlaneUpgradeRequest, resp *runtimehooksv1.BeforeControlPlaneUpgradeResponse) {
	h.delayWhileBlocked(ctx, client.ObjectKeyFromObject(&req.Cluster), resp, func(m *clusterv1.Machine) bool { return util.IsControlPlaneMachine(m) })
}

// BeforeWorkersUpgrade is the same for the workers.
func (h *Handlers) BeforeWorkersUpgrade(ctx context.Context, req *runtimehooksv1.BeforeWorkersUpgradeRequest, resp *runtimehooksv1.BeforeWorkersUpgradeResponse) {
	h.delayWhileBlocked(ctx, client.ObjectKeyFromObject(&req.Cluster), resp, func(m *clusterv1.Machine) bool { return !util.IsControlPlaneMachine(m) })
}

// delayWhileBlocked delays the upgrade by retryAfterSeconds, and never by a failure, because Cluster API drops the text of failures.
func (h *Handlers) delayWhileBlocked(ctx context.Context, cluster client.ObjectKey, resp runtimehooksv1.RetryResponseObject, isChosen func(*clusterv1.Machine) bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	resp.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	seen, err := h.Outlook.OfCluster(ctx, cluster, isChosen)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "Failed to preview the upgrade of a cluster", "Cluster", cluster)
		delay(resp, "The state of Cluster "+cluster.Name+" cannot be read at the moment")
	case seen == nil: // not a cluster of this provider
	case seen.Unreachable:
		delay(resp, "Waiting: "+workload.Unreached(cluster.Name, nil))
	default:
		delay(resp, forCaller(ctx, cluster, strings.Join(obstacles(seen), "; ")))
	}
}

// forCaller returns the message about the obstacles. Callers that are not verified get no details of nodes and workloads, which are written
// to the manager's log instead.
func forCaller(ctx context.Context, cluster client.ObjectKey, obstacles string) string {
	if obstacles == "" || extensionserver.IsCallerVerified(ctx) {
		return obstacles
	}
	ctrl.LoggerFrom(ctx).Info("Delaying the upgrade of a Cluster", "Cluster", cluster, "obstacles", obstacles)
	return "A node of Cluster " + cluster.Name + " must not be taken down now. " +
		"The reason is sent only to callers with a client certificate (see docs/install.md), and is in the manager's log: " + logCommand
}

func delay(resp runtimehooksv1.RetryResponseObject, message string) {
	if message == "" {
		return
	}
	resp.SetMessage(message)
	resp.SetRetryAfterSeconds(delayRetrySeconds)
}

// obstacles returns the checks that block, and the paused nodes.
func obstacles(seen *outlook.Outlook) []string {
	found := outlook.DescribeAll(seen.Blockers())
	for _, subject := range seen.Subjects {
		if pausing.MarksOf(subject.Node).Paused {
			found = append(found, "Node/"+subject.Node.Name+": is paused: remove its annotation "+infrav1.NodeUpgradePauseAnnotation)
		}
	}
	return found
}
