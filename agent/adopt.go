// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
)

// joined are the files that kubeadm, RKE2 and K3s leave on a host that is a node, and on no other.
var joined = []string{"/etc/kubernetes/kubelet.conf", "/var/lib/rancher/rke2/agent", "/var/lib/rancher/k3s/agent"}

// adopt marks a host as bootstrapped that the predecessor's agent bootstrapped: that agent kept no such mark, and a node must never be
// bootstrapped again. The mark is written before the host gets a name, since the name is what shows that the host has been adopted.
func (a *Agent) adopt() error {
	if !identity.IsPredecessors(a.workDir) || !slices.ContainsFunc(joined, a.Host.Exists) {
		return nil
	}
	a.Log.Info("The host was bootstrapped by the predecessor's agent")
	return phase.MarkBootstrapped(a.workDir)
}
