// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package token signs and verifies the two JSON Web Tokens of the Elemental API:
//
//	registration token: sub = aud = registration URI, signed with the registration's private key
//	host token:         sub = host name, aud = registration URI, signed with the host's own key
//
// Both are signed with EdDSA (Ed25519), and verification requires alg, sub, aud and exp. Without these checks a
// token signed with the right key would be valid for every endpoint and forever.
//
// The package must not import Kubernetes packages, because the agent imports it.
package token
