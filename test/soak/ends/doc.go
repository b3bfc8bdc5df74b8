// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ends tests, on the lab, every row of the table of ends (docs/architecture.md): what is left of a cordon, of
// skip-remediation, of the slot and of the host's marks, and what the hook answers to Cluster API, however an attempt
// ends and at whichever step a person withdraws it. After each of them the next good image must succeed on the same
// Machine.
package ends
