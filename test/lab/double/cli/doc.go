// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the front of the simulated elemental CLI: its arguments, environment variables, configuration, log and exit codes, as those of
// v2.3.2. What it does to a host is simulated by package install.
package cli
