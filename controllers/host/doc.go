// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host is the controller of ElementalHosts. It turns what an agent reports into conditions and
// labels that people and selectors can use, and puts the outcome of an upgrade by hand where `clusterctl move`
// keeps it. That of an attempt is on its ElementalHostUpgrade.
//
// It writes the conditions, the labels installed and bootstrapped, the outcome values of the
// in-place-upgrade label and the annotations last-attempt and manual-upgrades, and it completes the OS that
// a person asked for by the name of a ManagedOSVersion; all else of a host has another writer. An idle host
// is neither reconciled nor written.
package host
