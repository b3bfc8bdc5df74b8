// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagetrust is the one rule of whose signature an image needs, and of when a signature counts. Webhooks refuse by it
// what the agent could not check by. The agent imports it: it needs no Kubernetes. The keys, certificates
// and signatures themselves are left to sigstore's libraries.
package imagetrust
