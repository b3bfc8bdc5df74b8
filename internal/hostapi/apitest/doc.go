// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitest runs the Elemental API on a real kube-apiserver, for its tests and its benchmark.
package apitest
