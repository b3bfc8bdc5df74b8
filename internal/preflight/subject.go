// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Subject is the node at hand.
type Subject struct {
	Machine *clusterv1.Machine
	// Elemental is its ElementalMachine; nil where an upgrade is only requested.
	Elemental *infrav1.ElementalMachine
	Host      *infrav1.ElementalHost
	Node      *corev1.Node

	// Drained says that Rancher drains the node: its cordon is a part of that, and so is one that was there before.
	Drained bool
	// Attempt is the id of the attempt that asks; empty where an upgrade is only requested.
	Attempt string
	// Admitted says that the attempt has taken its slot: its node may be drained already.
	Admitted bool
	// FixesForward says that the host runs, by a former attempt, an OS with which its Node is not Ready, and that its kubelet answers.
	FixesForward bool
	// Rival is another unfinished attempt on the same host that goes first; nil if there is none.
	Rival *infrav1.ElementalHostUpgrade
	// Digest that the host is to be brought to; empty while it is not known.
	Digest string
	// Quarantining are the other ElementalClusters of the namespace that have Digest in their quarantine.
	Quarantining []infrav1.ElementalCluster
	// Report is what the host says of the attempt; zero if it says nothing.
	Report infrav1.HostUpgradeStatus
}
