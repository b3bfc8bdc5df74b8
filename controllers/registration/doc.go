// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registration is the controller of ElementalRegistrations: it makes the key that a registration's tokens are signed with, keeps
// a token in a Secret that a new host can present, and reports in status where that is and how hosts reach the API. A token is renewed at
// half of its life, and at once when the address or the key has changed.
//
// Secrets are neither watched nor cached, but read at least every minute. To renew a key, delete its Secret.
package registration
