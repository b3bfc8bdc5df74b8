// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks validates and defaults the provider's kinds where the rules in the CRDs cannot: which fields
// may change after creation, which values must be decodable, and who may trigger a host.
//
// The webhooks for the objects of other providers are in package guard.
package webhooks
