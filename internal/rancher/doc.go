// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rancher is the protocol by which Rancher drains the Nodes of a Cluster that it has provisioned: annotations of the plan secret of
// each Machine. Of these Secrets only the metadata are read, as the plan is a credential; see docs/rancher.md for the order of the
// annotations and their source.
package rancher
