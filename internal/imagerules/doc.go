// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagerules converts imageVerification to its wire format for hosts, and adds the trusted root that it refers to. The API for
// hosts returns the result, and the upgrade controller checks that it is complete before it sends an image to a host.
package imagerules
