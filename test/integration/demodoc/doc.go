// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package demodoc runs the commands of docs/demo.md on the lab, unmodified and in order, in a shell with the
// real kubectl and clusterctl. Addresses, and the names that the page calls mine, are replaced by the lab's.
package demodoc
