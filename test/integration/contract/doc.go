// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract tries each rule of Cluster API's contracts for InfraMachine and InfraCluster on the lab. The
// rules are read from the pages of the Cluster API that go.mod names: a rule without a spec fails the suite. What
// the contract of clusterctl asks for is tried in test/contract/clusterctl, but for its OwnerReferences, and remediation,
// with and without an upgrade, in test/integration/vanish. The workload cluster is reached by the account of
// config/workload, which must be enough for all of it.
package contract
