// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// driverOfMachineDeployment chooses the driver for the Machines of a MachineDeployment. Cluster API updates them in place but in a Cluster
// that Rancher has provisioned, where Rancher reverts a reference that is changed.
func (o *Owners) driverOfMachineDeployment(ctx context.Context, namespace, cluster, of string) (Choice, error) {
	drains, err := IsDrainedByRancher(ctx, o.Client, namespace, cluster)
	if err != nil || !drains {
		return Choice{Driver: infrav1.DriverClusterAPI, Owner: of}, err
	}
	option, where, err := driverOption(ctx, o.Client, namespace, cluster)
	switch {
	case err != nil:
		return Choice{Owner: of}, err
	case option != infrav1.DriverAuto && option != infrav1.DriverRancherDrain:
		return Choice{Owner: of, Problem: fmt.Sprintf("%s belongs to Cluster %s, which Rancher has provisioned, and driver is %s in %s: the Machines keep "+
			"their OS. Set driver Auto or RancherDrain", of, cluster, option, where)}, nil
	}
	return Choice{Driver: infrav1.DriverRancherDrain, Owner: of}, nil
}

// IsDrainedByRancher reports whether Rancher has provisioned a Cluster.
func IsDrainedByRancher(ctx context.Context, reader client.Reader, namespace, name string) (bool, error) {
	cluster, err := existing.Get(ctx, reader, &clusterv1.Cluster{}, namespace, name, client.UnsafeDisableDeepCopy)
	return cluster != nil && rancher.Provisions(cluster), err
}

// WithoutReference reports whether a driver upgrades hosts while the owner of their Machines goes on to refer to the template that is patched.
func WithoutReference(driver infrav1.UpgradeDriver) bool {
	return driver == infrav1.DriverDirect || driver == infrav1.DriverRancherDrain
}

// rollsOutPool says that a pool of Rancher replaces a Machine: its MachineDeployment refers to another template than the MachineSet of the Machine.
// Condition UpToDate does not tell: Cluster API 1.14 sets it to False on all Machines without a version, once their kubelet reports one,
// and Rancher's have none.
func rollsOutPool(ctx context.Context, live client.Reader, machine *clusterv1.Machine) (string, error) {
	name := metav1.GetControllerOf(machine).Name
	set, err := existing.Get(ctx, live, &clusterv1.MachineSet{}, machine.Namespace, name)
	if err != nil || set == nil {
		return "", err
	}
	wanted, err := ownersReference(ctx, live, machine)
	if err != nil || wanted == nil || wanted.reference == set.Spec.Template.Spec.InfrastructureRef {
		return "", err
	}
	return fmt.Sprintf("the MachineDeployment of Machine %s refers to %s %s by now, and replaces it", machine.Name, wanted.reference.Kind, wanted.reference.Name), nil
}
