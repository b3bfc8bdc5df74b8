// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package osimage makes OS images, and the state.yaml of an installed host, for the suites with the real elemental CLI. Its functions fail the node of
// Ginkgo that calls them.
package osimage
