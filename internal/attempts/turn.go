// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	"cmp"
	"context"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// StepPrefetch is the step at which the host of an attempt fetches its image.
const StepPrefetch = "Prefetch"

// HasFetched reports whether the host of an attempt has its image, or fetches none ahead.
func HasFetched(attempt *infrav1.ElementalHostUpgrade) bool {
	return slices.ContainsFunc(attempt.Status.Steps, func(step infrav1.UpgradeStepStatus) bool {
		return step.Name == StepPrefetch && step.CompletionTime != nil
	})
}

// Place of a node in the order in which the nodes of a Cluster are upgraded.
type Place struct {
	// ControlPlane nodes are first.
	ControlPlane bool
	// Node is the name of the Node, or of the host while the Node is not known.
	Node string
	// Name of the object, which decides between two without a Node.
	Name string
}

// Compare two places: control planes are first, and then the names of the Nodes count.
func (p Place) Compare(other Place) int {
	if p.ControlPlane != other.ControlPlane {
		if p.ControlPlane {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(p.Node, other.Node), cmp.Compare(p.Name, other.Name))
}

// PlaceOf an attempt.
func PlaceOf(attempt *infrav1.ElementalHostUpgrade) Place {
	return Place{ControlPlane: IsControlPlane(attempt), Node: NodeOf(attempt), Name: attempt.Name}
}

// InOrder compares two attempts of a Cluster by the order in which their nodes are upgraded.
func InOrder(a, b *infrav1.ElementalHostUpgrade) int { return PlaceOf(a).Compare(PlaceOf(b)) }

// IsControlPlane reports whether an attempt is on a control plane Machine, by its label.
func IsControlPlane(attempt *infrav1.ElementalHostUpgrade) bool {
	_, labelled := attempt.Labels[clusterv1.MachineControlPlaneLabel]
	return labelled
}

// NodeOf is the name of the Node of an attempt, or of its host while the Node is not known.
func NodeOf(attempt *infrav1.ElementalHostUpgrade) string {
	return cmp.Or(attempt.Status.NodeName, attempt.Spec.HostName)
}

// turnReasons are the holds that end when another attempt releases a slot or a place among the hosts that fetch, or has ended.
var turnReasons = []infrav1.HoldReason{
	infrav1.HoldNoSlot, infrav1.HoldControlPlaneBusy, infrav1.HoldEvacuationBusy, infrav1.HoldOutcomePending,
	infrav1.HoldNotInTurn, infrav1.HoldPrefetchBusy,
}

// IsTurn reports whether a hold ends when another attempt releases what this one waits for.
func IsTurn(reason infrav1.HoldReason) bool { return slices.Contains(turnReasons, reason) }

// orderReasons are the holds by an ElementalClusterUpgrade whose end shows in what is watched of it.
var orderReasons = []infrav1.HoldReason{
	infrav1.HoldStageNotReady, infrav1.HoldNotInStage, infrav1.HoldStageFull, infrav1.HoldSoaking, infrav1.HoldWindowClosed, infrav1.HoldNoWindowFits,
	infrav1.HoldUpgradePaused, infrav1.HoldUpgradeCancelled, infrav1.HoldUpgradeReplaced,
}

// IsOrder reports whether a hold is by the order of a cluster's upgrade, and ends when that continues or is changed.
func IsOrder(reason infrav1.HoldReason) bool { return slices.Contains(orderReasons, reason) }

// AwaitedTurn is the first hold of an attempt, if that is one of its turn; empty otherwise.
func AwaitedTurn(attempt *infrav1.ElementalHostUpgrade) infrav1.HoldReason {
	if held := FirstHold(attempt); held != nil && IsTurn(held.Reason) {
		return held.Reason
	}
	return ""
}

// FirstHold of an attempt that has not ended; nil if there is none.
func FirstHold(attempt *infrav1.ElementalHostUpgrade) *infrav1.UpgradeHold {
	if attempt.PhaseNow().IsEnd() || len(attempt.Status.Holds) == 0 {
		return nil
	}
	return &attempt.Status.Holds[0]
}

// Precedes reports whether the nodes after that of an attempt wait for it: it has had no slot yet, or has one on a control plane, and nothing but its turn holds
// it. One whose virtual machines wait for those of another node does not: nodes without any may pass it.
func Precedes(attempt *infrav1.ElementalHostUpgrade) bool {
	isAtWork := IsControlPlane(attempt) && conditions.IsTrue(attempt, infrav1.UpgradeAdmittedCondition)
	return isUnfinished(attempt) && (isAtWork || !HasEntered(attempt, StepCordon)) &&
		!slices.ContainsFunc(attempt.Status.Holds, func(held infrav1.UpgradeHold) bool {
			return !IsTurn(held.Reason) || held.Reason == infrav1.HoldEvacuationBusy
		})
}

func isUnfinished(attempt *infrav1.ElementalHostUpgrade) bool {
	return !attempt.PhaseNow().IsEnd() && attempt.Status.Phase != infrav1.UpgradeHostLost && attempt.DeletionTimestamp.IsZero()
}

// IsAwaitedByRancher reports whether an attempt that does not end well stops nothing: Rancher waits for it itself, in its drain, or a user has given it up.
func IsAwaitedByRancher(attempt *infrav1.ElementalHostUpgrade) bool {
	return attempt.Spec.Driver == infrav1.DriverRancherDrain && (attempt.Spec.Cancel || attempt.Spec.Release || HasStarted(attempt))
}

// Before is the attempt of a Cluster that comes before that of another node, and is chosen; nil if there is none. It must not be changed.
func Before(
	ctx context.Context, cache client.Reader, of *infrav1.ElementalHostUpgrade, isChosen func(*infrav1.ElementalHostUpgrade) bool,
) (*infrav1.ElementalHostUpgrade, error) {
	unfinished, err := Unfinished(ctx, cache, client.ObjectKey{Namespace: of.Namespace, Name: of.Spec.ClusterName})
	for i := range unfinished {
		if other := &unfinished[i]; other.Spec.Driver != infrav1.DriverRancherDrain && InOrder(other, of) < 0 && isChosen(other) {
			return other, nil
		}
	}
	return nil, err
}

// IsFetching reports whether the host of an attempt fetches its image. One that is held there has stopped to report, or cannot. One that has not resolved the image
// may do so at any moment.
func IsFetching(attempt *infrav1.ElementalHostUpgrade) bool {
	held := FirstHold(attempt)
	return !attempt.PhaseNow().IsEnd() && attempt.Status.Step == StepPrefetch && (held == nil || held.Reason == infrav1.HoldImageNotResolved)
}

// Fetching are the attempts of a Cluster whose hosts fetch their image, from the manager's cache. They must not be changed.
func Fetching(ctx context.Context, cache client.Reader, cluster client.ObjectKey) ([]infrav1.ElementalHostUpgrade, error) {
	return list(ctx, cache, cluster, client.MatchingFields{byFetching: cluster.Name}, client.UnsafeDisableDeepCopy)
}
