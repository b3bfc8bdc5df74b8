// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imageuri is the one rule of what an image URI, and a digest, may be. Webhooks refuse by it what the agent could not
// fetch. The agent imports it: it needs no Kubernetes.
package imageuri
