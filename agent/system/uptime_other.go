// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package system

import "time"

func uptime() time.Duration { return time.Since(started) }
