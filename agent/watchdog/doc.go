// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watchdog tells systemd that the agent lives, so that one that hangs is ended and started again. It speaks the protocol of
// sd_notify(3), which is one datagram.
package watchdog
