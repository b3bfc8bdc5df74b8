// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ends tries, on the lab, every row of the table of ends (docs/architecture.md): what is left of a cordon, of
// skip-remediation, of the slot and of the host's marks, and what Cluster API is answered, however an attempt ends and at
// whichever step a person withdraws it. After each the next good image succeeds on the same Machine.
package ends
