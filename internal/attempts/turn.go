// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	"cmp"
	"context"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// StepPrefetch is the step at which the host of an attempt fetches its image.
const StepPrefetch = "Prefetch"

// IsControlPlane reports whether an attempt is on a control plane Machine, by its label.
func IsControlPlane(attempt *infrav1.ElementalHostUpgrade) bool {
	_, labelled := attempt.Labels[clusterv1.MachineControlPlaneLabel]
	return labelled
}

// InOrder compares two attempts of a Cluster by the order in which their nodes are upgraded: control planes first, and then by the name of the Node.
func InOrder(a, b *infrav1.ElementalHostUpgrade) int {
	if isFirst := IsControlPlane(a); isFirst != IsControlPlane(b) {
		if isFirst {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(NodeOf(a), NodeOf(b)), cmp.Compare(a.Name, b.Name))
}

// NodeOf is the name of the Node of an attempt, or of its host while the Node is not known.
func NodeOf(attempt *infrav1.ElementalHostUpgrade) string {
	return cmp.Or(attempt.Status.NodeName, attempt.Spec.HostName)
}

// turnReasons are the holds that end without an act of a user, a host or the time, and that no order of an ElementalClusterUpgrade causes.
var turnReasons = []infrav1.HoldReason{
	infrav1.HoldNoSlot, infrav1.HoldControlPlaneBusy, infrav1.HoldEvacuationBusy, infrav1.HoldPrefetchBusy,
}

// GoesFirst reports whether other nodes of the Cluster wait until an attempt on a control plane Machine has ended: it has not, and nothing holds it but other
// nodes.
func GoesFirst(attempt *infrav1.ElementalHostUpgrade) bool {
	return IsControlPlane(attempt) && !attempt.PhaseNow().IsEnd() && attempt.Status.Phase != infrav1.UpgradeHostLost &&
		attempt.DeletionTimestamp.IsZero() &&
		!slices.ContainsFunc(attempt.Status.Holds, func(held infrav1.UpgradeHold) bool { return !slices.Contains(turnReasons, held.Reason) })
}

// First is an attempt of a Cluster that goes first, see GoesFirst, from the manager's cache; nil if there is none. It must not be changed.
func First(ctx context.Context, cache client.Reader, cluster client.ObjectKey) (*infrav1.ElementalHostUpgrade, error) {
	found, err := list(ctx, cache, cluster, client.MatchingFields{byControlPlane: cluster.Name}, client.UnsafeDisableDeepCopy)
	for i := range found {
		if GoesFirst(&found[i]) {
			return &found[i], nil
		}
	}
	return nil, err
}

// IsFetching reports whether the host of an attempt fetches its image. One that is held there has gone silent.
func IsFetching(attempt *infrav1.ElementalHostUpgrade) bool {
	return !attempt.PhaseNow().IsEnd() && attempt.Status.Step == StepPrefetch && len(attempt.Status.Holds) == 0
}

// Fetching are the attempts of a Cluster whose hosts fetch their image, from the manager's cache. They must not be changed.
func Fetching(ctx context.Context, cache client.Reader, cluster client.ObjectKey) ([]infrav1.ElementalHostUpgrade, error) {
	return list(ctx, cache, cluster, client.MatchingFields{byFetching: cluster.Name}, client.UnsafeDisableDeepCopy)
}
