// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster is the controller of ElementalClusters. There is no infrastructure to make: hosts are
// there before the cluster. A cluster is provisioned when it is owned and its control plane endpoint is
// known; the endpoint itself is served by the hosts (kube-vip or the like) or by a load balancer.
//
// The condition NodesUpToDate is the status line of the cluster: what its nodes run, and what is done to
// them. It is written when what it says changes (nodes.go, statusline.go).
//
// status.upgradeSlots and spec.quarantine of an ElementalCluster are the upgrade
// controller's, and are never written here.
package cluster
