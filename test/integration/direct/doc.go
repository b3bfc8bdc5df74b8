// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct tests upgrades of Machines that Cluster API cannot update in place, on the lab: a KubeadmControlPlane of one, with
// a real etcd member, and a stand-in of a K3s control plane.
package direct
