// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diagnose looks at a host for the person who sits before it: what is wrong (Check), what the host is and waits for (Status),
// and a file of all that to hand on, without secrets (Bundle). It works without the network and on a broken host, says of each thing
// that it cannot tell why, and writes nothing that the agent uses.
package diagnose
