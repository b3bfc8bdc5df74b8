// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imageuri validates image URIs and digests. Webhooks reject with it the URIs that the agent could not fetch. It must not import
// Kubernetes packages, because the agent imports it.
package imageuri
