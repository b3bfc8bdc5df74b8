// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

// Names of the handlers of the runtime extension. Cluster API appends the name of the ExtensionConfig, after a dot. They carry
// the provider's name, so that our ExtensionConfig can be told from a competitor's.
const (
	CanUpdateMachineHandler    = "elemental-can-update-machine"
	CanUpdateMachineSetHandler = "elemental-can-update-machineset"
	UpdateMachineHandler       = "elemental-update-machine"

	// DiscoverVariablesHandler and GeneratePatchesHandler are those that a patch of a ClusterClass names.
	DiscoverVariablesHandler = "elemental-discover-variables"
	GeneratePatchesHandler   = "elemental-generate-patches"

	// BeforeClusterUpgradeHandler, BeforeControlPlaneUpgradeHandler and BeforeWorkersUpgradeHandler hold the
	// Kubernetes upgrade of a ClusterClass' cluster.
	BeforeClusterUpgradeHandler      = "elemental-before-cluster-upgrade"
	BeforeControlPlaneUpgradeHandler = "elemental-before-control-plane-upgrade"
	BeforeWorkersUpgradeHandler      = "elemental-before-workers-upgrade"
)

// OSImageVariable is the variable of a ClusterClass that names the OS image of all Elemental machines. It
// may be overridden for a control plane or a MachineDeployment. Unset, the templates of the class decide;
// set, it takes precedence over their image or ManagedOSVersion.
const OSImageVariable = "elementalOSImage"
