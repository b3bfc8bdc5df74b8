// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deniedkey reads and changes the keys that an ElementalRegistration denies: those of hosts whose ElementalHost was
// deleted. It changes objects in memory only and makes no API calls.
package deniedkey
