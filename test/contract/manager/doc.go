// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager tests bin/manager as it is deployed: several replicas with leader election, with the permissions of
// config/rbac only, and with the diagnostics endpoint that Cluster API's managers serve by default. The replicas have
// an API server of their own; test/soak/several tests the effects of a leader change on an upgrade.
package manager
