// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package power is how a command of a lab host requests a reboot: it writes a line into a named pipe
// that the host's supervisor reads. Without a supervisor the request fails.
package power
