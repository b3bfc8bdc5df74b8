// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload is the workload cluster as an upgrade sees it: its nodes, what runs on them, and
// the volumes attached to them. What else on a node an upgrade has to care for, and how, is told by
// its Residents, each in a package of its own, which the package knows by that interface alone. It is the only package that
// imports Cluster API's drain, which comes without a promise of compatibility.
package workload
