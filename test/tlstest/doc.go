// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tlstest calls servers that ask for client certificates, as whoever has one or none. Its functions are for ginkgo nodes.
package tlstest
