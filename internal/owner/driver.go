// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// DriverOf is what upgrades the host of a Machine when its template is patched: RancherDrain if it is of a MachineDeployment of a Cluster that
// Rancher has provisioned, and Direct otherwise. What Cluster API starts itself, for another reference or version, is no matter of a patched template.
func DriverOf(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (infrav1.UpgradeDriver, error) {
	if deploymentOf(machine) == "" {
		return infrav1.DriverDirect, nil
	}
	drains, err := IsDrainedByRancher(ctx, reader, machine.Namespace, machine.Spec.ClusterName)
	if err != nil || !drains {
		return infrav1.DriverDirect, err
	}
	return infrav1.DriverRancherDrain, nil
}

// NameOf the owner of a Machine, with its kind, such as "MachineDeployment workers". A Machine without an owner is its own.
func NameOf(machine *clusterv1.Machine) string {
	controller := metav1.GetControllerOf(machine)
	if controller == nil {
		return machineKind + " " + machine.Name
	}
	if name := deploymentOf(machine); name != "" {
		return MachineDeploymentKind + " " + name
	}
	return controller.Kind + " " + controller.Name
}

// deploymentOf is the name of the MachineDeployment of a Machine; empty if it has none.
func deploymentOf(machine *clusterv1.Machine) string {
	if !IsOfMachineSet(machine) {
		return ""
	}
	return machine.Labels[clusterv1.MachineDeploymentNameLabel]
}

// IsDrainedByRancher reports whether Rancher has provisioned a Cluster.
func IsDrainedByRancher(ctx context.Context, reader client.Reader, namespace, name string) (bool, error) {
	cluster, err := existing.Get(ctx, reader, &clusterv1.Cluster{}, namespace, name, client.UnsafeDisableDeepCopy)
	return cluster != nil && rancher.Provisions(cluster), err
}
