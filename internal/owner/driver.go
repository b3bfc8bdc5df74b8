// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// Choice is what upgrades the hosts of an owner's Machines.
type Choice struct {
	// Driver is ClusterAPI, Direct or RancherDrain; empty if nothing upgrades them, and Problem says why and what to change.
	Driver  infrav1.UpgradeDriver
	Problem string
	// IsAuto says that nobody has chosen it: it depends on what the owner and its provider are like.
	IsAuto bool
	// Owner with its kind, such as "KubeadmControlPlane cp". A Machine without an owner is its own.
	Owner string
}

// DriverOf chooses the driver for a Machine. Auto is Direct only where Cluster API is known not to update the Machines in place: see
// DriverOfOwner, control planes of kinds that compare the names of templates only, and MachineSets without a MachineDeployment.
func (o *Owners) DriverOf(ctx context.Context, machine *clusterv1.Machine) (Choice, error) {
	controller := metav1.GetControllerOf(machine)
	if controller == nil {
		return o.driverOfOther(ctx, machine, machineKind+" "+machine.Name)
	}
	of := controller.Kind + " " + controller.Name
	if controller.Kind == machineSetKind {
		if name := machine.Labels[clusterv1.MachineDeploymentNameLabel]; name != "" {
			return o.DriverOfMachineDeployment(ctx, machine.Namespace, machine.Spec.ClusterName, name)
		}
		return o.driverOfOther(ctx, machine, of) // a MachineSet of its own, whose Machines Cluster API never updates
	}
	object := NewControlPlane(controller.Kind)
	if object == nil {
		return o.driverOfOther(ctx, machine, of)
	}
	object, err := existing.Get(ctx, o.Client, object, machine.Namespace, controller.Name)
	if meta.IsNoMatchError(err) { // of a version of its provider that does not know updates in place
		return o.driverOfOther(ctx, machine, of)
	}
	controlPlane, exists := ForControlPlane(object)
	if err != nil || !exists {
		return Choice{Owner: of, Problem: of + " does not exist"}, err
	}
	return o.DriverOfOwner(ctx, controlPlane)
}

// driverOfOther chooses the driver of a Machine whose owner is known not to be updated in place by Cluster API.
func (o *Owners) driverOfOther(ctx context.Context, machine *clusterv1.Machine, of string) (Choice, error) {
	option, where, err := driverOption(ctx, o.Client, machine.Namespace, machine.Spec.ClusterName)
	if err != nil || option != infrav1.DriverClusterAPI {
		return Choice{Driver: infrav1.DriverDirect, Owner: of}, err
	}
	return Choice{Owner: of, Problem: fmt.Sprintf("%s cannot be updated in place by Cluster API, and driver is ClusterAPI in %s: the Machines keep their OS. "+
		"Set driver Auto or Direct", of, where)}, nil
}

// DriverOfOwner chooses the driver for the Machines of a MachineDeployment or a control plane. Auto is Direct for a control plane with
// fewer replicas than are updated in place, and for an RKE2ControlPlane whose provider is known to run without the feature gate. A gate
// that cannot be read does not make it Direct: the rollout waits until it can.
func (o *Owners) DriverOfOwner(ctx context.Context, of Owner) (Choice, error) {
	choice := Choice{Driver: infrav1.DriverClusterAPI, Owner: Describe(of)}
	controlPlane, isControlPlane := of.(ControlPlane)
	if !isControlPlane {
		return o.DriverOfMachineDeployment(ctx, of.Object().GetNamespace(), of.ClusterName(), of.Object().GetName())
	}
	option, _, err := driverOption(ctx, o.Client, of.Object().GetNamespace(), of.ClusterName())
	if err != nil {
		return choice, err
	}
	isDirect := option == infrav1.DriverDirect
	if choice.IsAuto = option == infrav1.DriverAuto || option == infrav1.DriverRancherDrain; choice.IsAuto {
		if isDirect, err = o.isKnownToReplace(ctx, controlPlane); err != nil {
			return choice, err
		}
	}
	if isDirect {
		choice.Driver = infrav1.DriverDirect
	}
	return choice, nil
}

// isKnownToReplace reports whether the provider of a control plane is known not to update its Machines in place. CAPRKE2 has the
// feature gate since v0.25 only; KubeadmControlPlane always has it, and is to be given it.
func (o *Owners) isKnownToReplace(ctx context.Context, of ControlPlane) (bool, error) {
	if of.Replicas() < minControlPlaneReplicas || of.Kind() != RKE2ControlPlaneKind {
		return of.Replicas() < minControlPlaneReplicas, nil
	}
	return o.gates.areOff(ctx, o, of.Provider())
}

// driverOption of a Cluster, and where it is set. One that does not exist, or has no ElementalCluster yet, has the default.
func driverOption(ctx context.Context, reader client.Reader, namespace, cluster string) (infrav1.UpgradeDriver, string, error) {
	options, where, err := ClusterOptions(ctx, reader, namespace, cluster)
	if apierrors.IsNotFound(err) {
		return infrav1.DriverAuto, "", nil
	}
	return options.WithDefaults().Driver, where, err
}
