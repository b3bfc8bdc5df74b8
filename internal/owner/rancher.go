// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// DriverOfMachineDeployment chooses the driver for the Machines of a MachineDeployment. Auto is ClusterAPI, but in a Cluster that Rancher
// has provisioned, where Rancher reverts a reference that is changed.
func (o *Owners) DriverOfMachineDeployment(ctx context.Context, namespace, cluster, name string) (Choice, error) {
	of := MachineDeploymentKind + " " + name
	option, where, err := driverOption(ctx, o.Client, namespace, cluster)
	if err != nil {
		return Choice{Owner: of}, err
	}
	drains, err := IsDrainedByRancher(ctx, o.Client, namespace, cluster)
	switch {
	case err != nil:
		return Choice{Owner: of}, err
	case !drains && option == infrav1.DriverDirect:
		return Choice{Driver: infrav1.DriverDirect, Owner: of}, nil
	case !drains:
		return Choice{Driver: infrav1.DriverClusterAPI, Owner: of, IsAuto: option != infrav1.DriverClusterAPI}, nil
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
