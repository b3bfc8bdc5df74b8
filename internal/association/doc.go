// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package association associates an ElementalMachine with an ElementalHost, and releases the host again.
//
// The host is the lock: spec.machineRef is set by a patch that carries the host's resourceVersion, so
// only one of two machines can claim it. A machine never claims two hosts: before it claims one it
// records that host's name, in a patch that carries the machine's own resourceVersion. After a crash at
// any point the claim is resumed from that name:
//
//	ElementalMachine                 ElementalHost
//	1. annotation claiming-host = h
//	                                 2. machineRef, bootstrapSecret, OS, labels   (one write)
//	3. hostRef = h, providerID, annotation removed
//
// Hosts are found through field indexes, so an association does not list all hosts of a namespace.
package association
