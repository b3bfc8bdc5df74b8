// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagetrust decides whose signature an image needs, and whether a signature is accepted. The agent verifies images with it, and
// webhooks reject rules that it could not apply. It must not import Kubernetes packages, because the agent imports it. Keys,
// certificates and signatures are handled by sigstore's libraries.
package imagetrust
