// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package power is how a command of a lab host asks for a reboot: it writes a line into a named pipe
// that the host's supervisor reads. Where no supervisor listens, asking fails.
package power
