// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager is the Elemental infrastructure provider of Cluster API: its controllers and
// webhooks, the runtime extension that updates Machines in place, and the API for hosts.
package main
