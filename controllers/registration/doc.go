// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registration is the controller of ElementalRegistrations: it makes the key that a
// registration's tokens are signed with, and keeps a token in spec that a new host can present. A token
// is renewed at half of its life, and at once when the API's endpoint or the key has changed.
//
// Secrets are neither watched nor cached. To renew a key, delete its Secret and then
// spec.config.elemental.registration.token.
package registration
