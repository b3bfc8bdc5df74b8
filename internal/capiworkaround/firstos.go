// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// FirstOSInterval is how often a machine whose host FailsFirstOS is to be looked at: none of its objects changes when another OS is wanted.
const FirstOSInterval = 20 * time.Second

// FailsFirstOS reports whether a host cannot get the OS with which it is to become a node: it fell back, the attempt failed, or the image cannot be
// fetched, which is tried again as long as it takes.
//
// Its machine may be given another OS, since the host is no node, and does nothing that another order would disturb. A host that goes on well gets the
// OS that it was told to, and the one that is wanted by then once it is a node.
func FailsFirstOS(machine *clusterv1.Machine, host *infrav1.ElementalHost) bool {
	return machine != nil && machine.DeletionTimestamp.IsZero() && !owner.IsUpdating(machine) && !machine.Status.NodeRef.IsDefined() &&
		FailedFirstOS(host)
}

// FailedFirstOS is what FailsFirstOS depends on of a host.
func FailedFirstOS(host *infrav1.ElementalHost) bool {
	return hoststate.Installed(host) && !hoststate.Bootstrapped(host) && hasFailed(host)
}

// hasFailed reports whether a host has not got the OS that it has to run, and no user has asked for another try.
func hasFailed(host *infrav1.ElementalHost) bool {
	if status := hoststate.OSStatus(host); status != nil {
		isAway := status.Phase == infrav1.HostUpgradeFetching && status.Message != ""
		return isAway || status.Phase == infrav1.HostUpgradeRolledBack || status.Phase == infrav1.HostUpgradeFailed
	}
	last, outcome, _ := hoststate.LastOutcome(host) // for agents that have forgotten the attempt
	return last != "" && last == hoststate.IdleAttempt(host) && !hoststate.Pending(host) &&
		(outcome == infrav1.InPlaceUpgradeRolledBack || outcome == infrav1.InPlaceUpgradeFailed)
}

// FollowOwner gives a machine whose host FailsFirstOS the OS that is wanted of it by now, and reports whether that is another. The caller writes the
// machine.
func FollowOwner(ctx context.Context, cache client.Reader, machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) (changed bool, err error) {
	want, found, err := owner.WantsOS(ctx, cache, machine)
	if err != nil || !found {
		return false, err
	}
	wanted := want.OSVersionManagement
	if !osversion.IsReadable(wanted) || osversion.Unresolved(wanted) != "" || osversion.Same(wanted, elemental.Spec.OSVersionManagement) {
		return false, nil
	}
	elemental.Spec.OSVersionManagement = *wanted.DeepCopy()
	return true, nil
}
