// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package association gives an ElementalMachine its ElementalHost, and takes it away again.
//
// The lock is the host: spec.machineRef is set by a patch that carries the host's resourceVersion, so
// that of two machines only one gets it. A machine in its turn never gets two hosts: before it claims
// one it writes that host's name down, in a patch that carries the machine's own resourceVersion. A
// crash at any point leaves a name to start from:
//
//	ElementalMachine                 ElementalHost
//	1. annotation claiming-host = h
//	                                 2. machineRef, bootstrapSecret, OS, labels   (one write)
//	3. hostRef = h, providerID, annotation removed
//
// Hosts are found through field indexes, so that an association does not read a fleet.
package association
