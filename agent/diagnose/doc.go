// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diagnose inspects a host for an operator on its console: problems (Check), the state of the host and what it waits for
// (Status), and a support bundle of both without secrets (Bundle). It works without the network and on a broken host, reports why
// something cannot be determined, and does not change any file that the agent uses.
package diagnose
