// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tlstest connects to servers that require client certificates, with or without one. Its functions are for
// Ginkgo nodes.
package tlstest
