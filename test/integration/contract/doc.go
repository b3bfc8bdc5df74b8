// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract tests each rule of Cluster API's contracts for InfraMachine and InfraCluster on the lab. The rules
// are read from the documentation of the Cluster API version in go.mod: a rule without a spec fails the suite. The
// clusterctl contract is tested in test/contract/clusterctl, except for its OwnerReferences, and remediation, with and
// without an upgrade, in test/integration/vanish. The workload cluster is accessed with the account of config/workload,
// which must be sufficient for all of it.
package contract
