// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rancher plays Rancher for clusters of RKE2 that it has provisioned: it makes the objects of Cluster API of a cluster, fulfils
// bootstrap, delivers plans to machines node by node, and drains nodes before (planner, machinedrain). Its specs are the contract of drain
// hooks. Clusters are Cluster API's, nodes those of the workload cluster.
//
// It is played as unkindly as it was read and observed (Rancher 2.15): a drain that was asked for is not withdrawn, an answer that was left behind
// is taken for the next one, a cordon is not remembered, a person's either, and the Secret of a machine changes every few seconds. It is stricter
// where the outcome of the real one depends on its cache: the planner's writes remove every annotation with a prefix of Rancher's or
// Cluster API's that it does not know.
//
// Not played: Windows, etcd snapshots, operations, Beacon, certificates, RKE2 itself, its versions on nodes (a Node's is that of its host's
// image), plans that fail, minor changes of plans, MachineHealthChecks, and pre-terminate hooks.
package rancher
