// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package phase decides what to do about a desired state. The phases run in a fixed order, up to the first
// that is not complete:
//
//	observe      the booted OS is added to the report; always
//	reset        boot into recovery, which runs "elemental-agent reset"
//	unapproved   a host that is not approved only reports
//	upgrade      see package upgrade; a host for which another OS is desired is not bootstrapped before
//	             it runs it
//	bootstrap    place the bootstrap data, reboot into it, wait for it
//
// An upgrade that cannot be undone any more is completed whatever is desired, except that a reset, which
// makes it pointless, comes first.
package phase
