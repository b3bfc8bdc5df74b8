// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine is the controller of ElementalMachines: it claims an ElementalHost for each, hands it
// the bootstrap data, gives the Node its provider ID, and releases the host when the machine goes.
//
// A change of the machine's OS is passed on to the host and nothing else: upgrading in place is the
// business of the runtime extension and of controllers/hostupgrade, and a bootstrapped host does not
// act on its spec without a trigger.
package machine
