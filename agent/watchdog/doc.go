// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watchdog tells systemd that the agent's process runs, so that one that is stopped or starved is ended and started again. What the
// agent waits for has a bound of its own each. It speaks the protocol of sd_notify(3), which is one datagram.
package watchdog
