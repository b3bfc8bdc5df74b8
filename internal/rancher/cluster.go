// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	// Group of Rancher's kinds.
	Group = "rke.cattle.io"
	// ControlPlaneKind is the kind of the control planes of the Clusters that Rancher has provisioned.
	ControlPlaneKind = "RKEControlPlane"

	// clusterNameLabel is on all Machines of such a Cluster.
	clusterNameLabel = "rke.cattle.io/cluster-name"
	// etcdLabel is on the Machines of etcd.
	etcdLabel = "rke.cattle.io/etcd-role"
)

// Provisions reports whether Rancher has provisioned a Cluster, and its planner upgrades the Nodes.
func Provisions(cluster *clusterv1.Cluster) bool {
	ref := cluster.Spec.ControlPlaneRef
	return ref.Kind == ControlPlaneKind && ref.APIGroup == Group
}

// MayOwn reports whether a Machine, or its ElementalMachine, may be one of such a Cluster, without a look at that. Of one without the label
// it is known that it is not.
func MayOwn(machine metav1.Object) bool { return machine.GetLabels()[clusterNameLabel] != "" }

// WhenItDrains is what has Rancher drain the Nodes of a Cluster, as a part of a message.
func WhenItDrains(cluster string) string {
	return ", as it does for another version of Kubernetes. For the OS alone raise spec.rkeConfig.provisionGeneration of clusters.provisioning.cattle.io " + cluster
}
