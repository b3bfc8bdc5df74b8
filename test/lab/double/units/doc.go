// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package units is the state of the systemd units of a lab host that somebody asks for. It lies beneath
// /run and is gone with every boot.
package units
