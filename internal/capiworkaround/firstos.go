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

// FirstOSInterval is how often a machine whose WaitsForFirstOS is true is to be looked at: none of its objects changes when the owner of its
// Machine refers to another template.
const FirstOSInterval = 20 * time.Second

// WaitsForFirstOS reports whether a host is installed and runs another OS than the one with which it is to become a node.
//
// Its machine may be given another OS, since the host is no node and nothing is disturbed. When the host runs the OS it is bootstrapped, and must not
// be disturbed: from then on the OS is changed by an update of Cluster API only.
func WaitsForFirstOS(machine *clusterv1.Machine, elemental *infrav1.ElementalMachine, host *infrav1.ElementalHost) bool {
	return machine != nil && machine.DeletionTimestamp.IsZero() && !owner.IsUpdating(machine) && !machine.Status.NodeRef.IsDefined() &&
		hoststate.Installed(host) && !hoststate.Bootstrapped(host) &&
		hoststate.Runs(host, elemental.Spec.OSVersionManagement) == hoststate.MatchOther
}

// FollowOwner gives a machine that WaitsForFirstOS the OS that the owner of its Machine wants by now, and reports whether that is another. The
// caller writes the machine. Cluster API's update, when there is a Node, then finds the OS that it asks for.
func FollowOwner(ctx context.Context, reader client.Reader, machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) (changed bool, err error) {
	want, found, err := owner.WantsOS(ctx, reader, machine)
	if err != nil || !found || osversion.Same(want.OSVersionManagement, elemental.Spec.OSVersionManagement) {
		return false, err
	}
	elemental.Spec.OSVersionManagement = want.OSVersionManagement.DeepCopy()
	return true, nil
}
