// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watchdog notifies systemd's watchdog, so that an agent that is stopped or starved is killed and restarted. It does not
// detect operations that hang; each of those has its own timeout. It implements sd_notify(3), which is one datagram.
package watchdog
