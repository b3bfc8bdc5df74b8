// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterctl asserts the rules of Cluster API's clusterctl provider contract on the assets of a release, as
// "make release" writes them. Each spec names its rule by the heading in the contract
// (docs/book/src/developer/providers/contracts/clusterctl.md of Cluster API); a heading without a spec fails the
// suite. test/integration/clusterctl uses the same assets with the real clusterctl.
package clusterctl
