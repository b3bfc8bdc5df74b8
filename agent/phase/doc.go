// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package phase decides what to do about a desired state. The order is fixed, and the first that has
// not come to its end is the last that is looked at:
//
//	observe      what is booted goes into the report; always
//	reset        boot into recovery, which runs "elemental-agent reset"
//	unapproved   a host that nobody vouches for only reports
//	upgrade      see package upgrade; a host for which another OS is desired is not bootstrapped before
//	             it runs it
//	bootstrap    place the bootstrap data, reboot into it, wait for it
//
// An upgrade that cannot be undone any more is brought to its end whatever is desired, except that a
// reset, which makes it pointless, comes first.
package phase
