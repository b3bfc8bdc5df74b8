// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package token signs and verifies the two JSON Web Tokens of the Elemental API:
//
//	registration token: sub = aud = registration URI, signed with the registration's private key
//	host token:         sub = host name, aud = registration URI, signed with the host's own key
//
// Both are signed with EdDSA (Ed25519), and verification demands alg, sub, aud and exp: the predecessor
// looked at none of the three claims, so that any token signed with the right key opened any door, for
// ever.
//
// The package knows nothing of Kubernetes, so that the agent can use it as well.
package token
