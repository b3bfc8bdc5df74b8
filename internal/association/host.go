// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// ProviderID is the provider ID of the machine that a host serves, and of its Node.
func ProviderID(host *infrav1.ElementalHost) string {
	return fmt.Sprintf("elemental://%s/%s", host.Namespace, host.Name)
}

// Recorded is the name of the host that serves the machine, or that the machine set out to claim.
// It is empty before the first claim.
func Recorded(machine *infrav1.ElementalMachine) string {
	if machine.Spec.HostRef != nil {
		return machine.Spec.HostRef.Name
	}
	return machine.Annotations[infrav1.ClaimingHostAnnotation]
}

// Serves says whether a host is the machine's. UIDs change with `clusterctl move`, so a reference with
// an old UID counts where the machine names the host too.
func Serves(host *infrav1.ElementalHost, machine *infrav1.ElementalMachine) bool {
	return locked(host, machine) && !hoststate.Released(host)
}

// locked says whether the lock of a host is the machine's.
func locked(host *infrav1.ElementalHost, machine *infrav1.ElementalMachine) bool {
	ref := host.Spec.MachineRef
	if ref == nil || ref.Name != machine.Name {
		return false
	}
	return ref.UID == machine.UID || Recorded(machine) == host.Name
}

// Assign writes into a host, in memory, all that follows from the association: the lock, the labels
// and the OS. It does not touch the bootstrap data.
func Assign(host *infrav1.ElementalHost, claim Claim) {
	host.Spec.MachineRef = &corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(),
		Kind:       "ElementalMachine",
		Namespace:  claim.Machine.Namespace,
		Name:       claim.Machine.Name,
		UID:        claim.Machine.UID,
	}
	host.Spec.OSVersionManagement = claim.Machine.Spec.OSVersionManagement.DeepCopy()
	if claim.ImageVerification != nil {
		host.Spec.ImageVerification = claim.ImageVerification.DeepCopy()
	}
	if host.Labels == nil {
		host.Labels = map[string]string{}
	}
	host.Labels[infrav1.MachineNameLabel] = claim.MachineName
	host.Labels[infrav1.ElementalMachineNameLabel] = claim.Machine.Name
	host.Labels[clusterv1.ClusterNameLabel] = claim.ClusterName
}

// Replaced says whether the host is another than the one that the machine names: that one's
// ElementalHost was removed, and a host has registered under its name since. Whoever knows the
// registration's token can do that, so such a host is never taken for the former one. A host with a lock
// is not asked: UIDs change with `clusterctl move`.
func Replaced(host *infrav1.ElementalHost, machine *infrav1.ElementalMachine) bool {
	ref := machine.Spec.HostRef
	return ref != nil && ref.Name == host.Name && ref.UID != "" && ref.UID != host.UID && host.Spec.MachineRef == nil
}

// claimable says whether a host is free, read past the cache, or lost its lock although the machine
// names it.
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
