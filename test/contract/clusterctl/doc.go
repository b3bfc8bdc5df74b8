// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterctl asserts the rules of Cluster API's clusterctl provider contract on the assets of a release, as "make
// release" writes them. Each spec names its rule by the heading that it has in the contract
// (docs/book/src/developer/providers/contracts/clusterctl.md of Cluster API); a heading that no spec names fails the suite.
// The same assets are used with the real clusterctl in test/integration/clusterctl.
package clusterctl
