// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// ProviderID is the provider ID of the machine that a host serves, and of its Node.
func ProviderID(host *infrav1.ElementalHost) string {
	return fmt.Sprintf("elemental://%s/%s", host.Namespace, host.Name)
}

// Recorded returns the name of the host that serves the machine, or that the machine is about to claim; empty before the first claim.
func Recorded(machine *infrav1.ElementalMachine) string {
	if machine.Spec.HostRef != nil {
		return machine.Spec.HostRef.Name
	}
	return machine.Annotations[infrav1.ClaimingHostAnnotation]
}

// Serves reports whether a host serves the machine. Since `clusterctl move` changes UIDs, a reference with an old UID counts if the machine
// refers to the host too.
func Serves(host *infrav1.ElementalHost, machine *infrav1.ElementalMachine) bool {
	return locked(host, machine) && !hoststate.Released(host)
}

// locked reports whether the machine holds the lock of a host.
func locked(host *infrav1.ElementalHost, machine *infrav1.ElementalMachine) bool {
	ref := host.Spec.MachineRef
	if ref == nil || ref.Name != machine.Name {
		return false
	}
	return ref.UID == machine.UID || Recorded(machine) == host.Name
}

// Assign sets in a host, in memory, everything that follows from the association: the lock, the labels, the OS and its imageVerification,
// but not the bootstrap data. The registration may come from a cache: if it is stale, its change reconciles the machine again, see
// RulesChanged.
func Assign(ctx context.Context, registrations client.Reader, host *infrav1.ElementalHost, claim Claim) error {
	rules, err := imageVerification(ctx, registrations, host, claim.ElementalCluster)
	if err != nil {
		return err
	}
	host.Spec.ImageVerification = rules
	host.Spec.MachineRef = &infrav1.LocalReference{Name: claim.Machine.Name, UID: claim.Machine.UID}
	host.Spec.OSVersionManagement = *claim.Machine.Spec.OSVersionManagement.DeepCopy()
	if host.Labels == nil {
		host.Labels = map[string]string{}
	}
	host.Labels[infrav1.MachineNameLabel] = claim.MachineName
	host.Labels[infrav1.ElementalMachineNameLabel] = claim.Machine.Name
	host.Labels[clusterv1.ClusterNameLabel] = claim.ClusterName
	return nil
}

// imageVerification returns the cluster's or, if that has none, that of the host's registration, read now: the host's own may be a former
// one of the cluster. While either cannot be found, as during a move, the host keeps what it has: a missing object must not relax the rules.
func imageVerification(
	ctx context.Context, registrations client.Reader, host *infrav1.ElementalHost, cluster *infrav1.ElementalCluster,
) (*infrav1.ImageVerification, error) {
	if cluster == nil {
		return host.Spec.ImageVerification, nil
	}
	if cluster.Spec.ImageVerification != nil {
		return cluster.Spec.ImageVerification.DeepCopy(), nil
	}
	return RegisteredRules(ctx, registrations, host)
}

// Replaced reports whether the host is another than the one the machine refers to: that ElementalHost was removed, and a host has registered
// under its name since. Anyone with the registration's token can do that, so such a host is never treated as the former one. It is false for
// a host with a lock, since UIDs change with `clusterctl move`.
func Replaced(host *infrav1.ElementalHost, machine *infrav1.ElementalMachine) bool {
	ref := machine.Spec.HostRef
	return ref != nil && ref.Name == host.Name && ref.UID != "" && ref.UID != host.UID && host.Spec.MachineRef == nil
}

// claimable reports whether a host, read live, is free, or lost its lock although the machine refers to it.
func claimable(host *infrav1.ElementalHost, machine *infrav1.ElementalMachine) bool {
	if Replaced(host, machine) {
		return false
	}
	if hoststate.Free(host) {
		return true
	}
	return machine.Spec.HostRef != nil && machine.Spec.HostRef.Name == host.Name &&
		host.Spec.MachineRef == nil && host.Spec.Approved && !hoststate.Released(host)
}
