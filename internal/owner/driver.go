// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// Choice is what upgrades the hosts of an owner's Machines.
type Choice struct {
	// Driver is ClusterAPI or Direct; empty if nothing upgrades them, and Problem says why and what to change.
	Driver  infrav1.UpgradeDriver
	Problem string
	// Owner with its kind, such as "KubeadmControlPlane cp". A Machine without an owner is its own.
	Owner string
}

// DriverOf chooses the driver for a Machine. Auto is Direct only where Cluster API is known not to update the Machines in place: a
// KubeadmControlPlane accepts maxSurge 0 with three replicas or more, and control planes of other kinds compare the names of
// templates only.
func DriverOf(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (Choice, error) {
	controller := metav1.GetControllerOf(machine)
	if controller == nil {
		return driverOfOther(ctx, reader, machine, machineKind+" "+machine.Name)
	}
	of := controller.Kind + " " + controller.Name
	switch controller.Kind {
	case machineSetKind:
		if machine.Labels[clusterv1.MachineDeploymentNameLabel] != "" {
			return Choice{Driver: infrav1.DriverClusterAPI, Owner: of}, nil
		}
		return Choice{Owner: of, Problem: of +
			" belongs to no MachineDeployment, without which Cluster API updates nothing: its Machines keep their OS. Upgrade their hosts by hand"}, nil
	case KubeadmControlPlaneKind:
		kcp, err := existing.Get(ctx, reader, &controlplanev1.KubeadmControlPlane{}, machine.Namespace, controller.Name)
		if err != nil || kcp == nil {
			return Choice{Owner: of, Problem: of + " does not exist"}, err
		}
		return DriverOfOwner(ctx, reader, ForKubeadmControlPlane(kcp))
	}
	return driverOfOther(ctx, reader, machine, of)
}

// driverOfOther chooses the driver of a Machine whose owner is known not to be updated in place by Cluster API.
func driverOfOther(ctx context.Context, reader client.Reader, machine *clusterv1.Machine, of string) (Choice, error) {
	option, where, err := driverOption(ctx, reader, machine.Namespace, machine.Spec.ClusterName)
	if err != nil || option != infrav1.DriverClusterAPI {
		return Choice{Driver: infrav1.DriverDirect, Owner: of}, err
	}
	return Choice{Owner: of, Problem: fmt.Sprintf("%s cannot be updated in place by Cluster API, and driver is ClusterAPI in %s: the Machines keep their OS. "+
		"Set driver Auto or Direct", of, where)}, nil
}

// DriverOfOwner chooses the driver for the Machines of a MachineDeployment or a KubeadmControlPlane.
func DriverOfOwner(ctx context.Context, reader client.Reader, of Owner) (Choice, error) {
	choice := Choice{Driver: infrav1.DriverClusterAPI, Owner: Describe(of)}
	kcp, isControlPlane := of.(kubeadmControlPlane)
	if !isControlPlane {
		return choice, nil
	}
	option, _, err := driverOption(ctx, reader, kcp.Namespace, of.ClusterName())
	if err != nil {
		return choice, err
	}
	isSmall := ptr.Deref(kcp.Spec.Replicas, 1) < minControlPlaneReplicas
	if option == infrav1.DriverDirect || option == infrav1.DriverAuto && isSmall {
		choice.Driver = infrav1.DriverDirect
	}
	return choice, nil
}

// driverOption of a Cluster, and where it is set. A Cluster that does not exist has the default.
func driverOption(ctx context.Context, reader client.Reader, namespace, cluster string) (infrav1.UpgradeDriver, string, error) {
	options, where, err := ClusterOptions(ctx, reader, namespace, cluster)
	if err != nil {
		found, readErr := existing.Get(ctx, reader, &clusterv1.Cluster{}, namespace, cluster)
		if readErr == nil && found == nil {
			return infrav1.DriverAuto, "", nil
		}
	}
	return options.WithDefaults().Driver, where, err
}
