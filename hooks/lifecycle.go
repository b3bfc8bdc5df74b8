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

// holdRetrySeconds is after how long Cluster API asks again whether an upgrade of Kubernetes may start.
const holdRetrySeconds = 15

// logCommand prints what all replicas said since Cluster API asked last.
const logCommand = "kubectl --namespace elemental-system logs --selector control-plane=controller-manager --since 1m --tail -1"

// BeforeClusterUpgrade holds the upgrade of Kubernetes while something stands against taking any node of the cluster down.
func (h *Handlers) BeforeClusterUpgrade(ctx context.Context, req *runtimehooksv1.BeforeClusterUpgradeRequest, resp *runtimehooksv1.BeforeClusterUpgradeResponse) {
	h.hold(ctx, client.ObjectKeyFromObject(&req.Cluster), resp, func(*clusterv1.Machine) bool { return true })
}

// BeforeControlPlaneUpgrade is the same for the nodes of the control plane.
func (h *Handlers) BeforeControlPlaneUpgrade(ctx context.Context, req *runtimehooksv1.BeforeControlPlaneUpgradeRequest, resp *runtimehooksv1.BeforeControlPlaneUpgradeResponse) {
	h.hold(ctx, client.ObjectKeyFromObject(&req.Cluster), resp, func(m *clusterv1.Machine) bool { return util.IsControlPlaneMachine(m) })
}

// BeforeWorkersUpgrade is the same for the workers.
func (h *Handlers) BeforeWorkersUpgrade(ctx context.Context, req *runtimehooksv1.BeforeWorkersUpgradeRequest, resp *runtimehooksv1.BeforeWorkersUpgradeResponse) {
	h.hold(ctx, client.ObjectKeyFromObject(&req.Cluster), resp, func(m *clusterv1.Machine) bool { return !util.IsControlPlaneMachine(m) })
}

// hold answers "not now" by the time after which to ask again, and never by a failure, whose text Cluster API loses.
func (h *Handlers) hold(ctx context.Context, cluster client.ObjectKey, resp runtimehooksv1.RetryResponseObject, isChosen func(*clusterv1.Machine) bool) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	resp.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	seen, err := h.Outlook.OfCluster(ctx, cluster, isChosen)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "Failed to look at a cluster before its upgrade", "Cluster", cluster)
		holdBack(resp, "The state of Cluster "+cluster.Name+" cannot be read at the moment")
	case seen == nil: // not one of ours
	case seen.Unreachable:
		holdBack(resp, "Waiting: "+workload.Unreached(cluster.Name, nil))
	default:
		holdBack(resp, forCaller(ctx, cluster, strings.Join(obstacles(seen), "; ")))
	}
}

// forCaller is what is said of the obstacles. Who is not verified may be anybody, and is told nothing of nodes and of what runs
// on them; a person who may read the manager's log finds it there.
func forCaller(ctx context.Context, cluster client.ObjectKey, obstacles string) string {
	if obstacles == "" || extensionserver.IsCallerVerified(ctx) {
		return obstacles
	}
	ctrl.LoggerFrom(ctx).Info("Holding the upgrade of a Cluster back", "Cluster", cluster, "obstacles", obstacles)
	return "A node of Cluster " + cluster.Name + " is not to be taken down now. " +
		"The reason is told only to callers with a client certificate (see docs/install.md); it is in the manager's log: " + logCommand
}

func holdBack(resp runtimehooksv1.RetryResponseObject, message string) {
	if message == "" {
		return
	}
	resp.SetMessage(message)
	resp.SetRetryAfterSeconds(holdRetrySeconds)
}

// obstacles are what blocks, and the nodes at which a person works.
func obstacles(seen *outlook.Outlook) []string {
	found := outlook.DescribeAll(seen.Blockers())
	for _, subject := range seen.Subjects {
		if pausing.MarksOf(subject.Node).Paused {
			found = append(found, "Node/"+subject.Node.Name+": is paused: remove its annotation "+infrav1.NodeUpgradePauseAnnotation)
		}
	}
	return found
}
