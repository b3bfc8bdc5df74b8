// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package units is the state of the systemd units of a lab host that commands query. It is stored under
// /run and lost with every boot.
package units
