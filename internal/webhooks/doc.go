// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks validates and defaults the provider's kinds, as far as the CRDs' own rules cannot:
// what may change after an object was made, what has to be decodable, and who may trigger a host.
//
// The guard over other providers' objects is in the folder guard.
package webhooks
