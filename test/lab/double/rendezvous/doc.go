// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rendezvous synchronizes a command of a lab host with the test, just before the command acts, just after, and
// halfway where it writes an image: the command blocks until the test releases it, or kills it.
package rendezvous
