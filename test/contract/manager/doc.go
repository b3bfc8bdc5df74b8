// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager tries bin/manager as it is deployed: several replicas with an election, with the rights of config/rbac and
// no others, and with the diagnostics that Cluster API's managers serve by default. The replicas run against an API server of
// their own; what a change of the leader does to an upgrade is tried in test/soak/several.
package manager
