// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// devicePrefix is of the devices that virt-handler offers.
const devicePrefix = "devices.kubevirt.io/"

// transientTaints are the prefixes of taints that a Node gets and loses with its condition, not because a person asks for it.
var transientTaints = []string{"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.cluster.x-k8s.io/"}

// passing: it cannot be migrated for the moment only, and is waited for. The policy is for those that cannot be migrated
// at all.
func (d *decider) passing(vmi *kubevirtv1.VirtualMachineInstance) *Decision {
	isSettled := vmi.IsRunning() && saysMigratable(vmi)
	if isSettled && (!vmi.IsMigratable() || !d.targets.maySoonTake(d.needs(vmi))) {
		return nil
	}
	return block(d.immovable(vmi))
}

// saysMigratable reports whether KubeVirt has said of a virtual machine whether it can be migrated.
func saysMigratable(vmi *kubevirtv1.VirtualMachineInstance) bool {
	return slices.ContainsFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
		return c.Type == kubevirtv1.VirtualMachineInstanceIsMigratable
	})
}

// maySoonTake reports whether a Node that cannot take a virtual machine now is one that it can be migrated to later.
func (t *targets) maySoonTake(n *needs) bool {
	return slices.ContainsFunc(t.nodes, func(node *corev1.Node) bool { return t.isFit(node, n) && t.hasRoomSoon(node, n) })
}

// isFit reports whether nothing that lasts keeps a virtual machine from a Node. That is how the two are made: what a Node is
// at the moment (not Ready, cordoned by an upgrade or a person, not served by virt-handler) passes.
func (t *targets) isFit(node *corev1.Node, n *needs) bool {
	_, hasKubeVirt := node.Labels[SchedulableLabel]
	return hasKubeVirt && n.runsOn(node) && n.untolerated(node, t.lasts) == "" && lacks(node.Status.Allocatable, n.lasting(node)) == ""
}

// hasRoomSoon reports whether there is room once a Node is what it was, and what leaves it has gone. Of a Node that nothing
// is scheduled to, only the size is known: its Pods may be on their way to others.
func (t *targets) hasRoomSoon(node *corev1.Node, n *needs) bool {
	if !t.isCounted(node) && workload.IsReady(node) && !node.Spec.Unschedulable {
		t.uncounted = append(t.uncounted, node.Name)
		return true
	}
	return !workload.IsReady(node) || node.Spec.Unschedulable || lacks(t.freed[node.Name], n.lasting(node)) == ""
}

// lasting are the requests whose lack lasts. What virt-handler's device plugins offer is zero until they have registered with
// a kubelet that has started, and while virt-handler is away.
func (n *needs) lasting(node *corev1.Node) corev1.ResourceList {
	if workload.IsReady(node) && !node.Spec.Unschedulable && node.Labels[SchedulableLabel] == "true" {
		return n.requests
	}
	left := maps.Clone(n.requests)
	maps.DeleteFunc(left, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return strings.HasPrefix(string(name), devicePrefix)
	})
	return left
}

// lasts reports whether a taint stays until a person takes it away.
func (t *targets) lasts(key string) bool {
	return key != t.drainTaint && !slices.ContainsFunc(transientTaints, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}
