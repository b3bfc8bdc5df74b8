// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package killtable kills processes at the side effects of the upgrade of one node: writes of the manager to API servers, commands of
// the host, what the agent writes to its disk, and the reboot. A list of edges, recorded from an undisturbed upgrade, says which side
// effects there are; a table says which kills each of them requires, and which were made.
package killtable
