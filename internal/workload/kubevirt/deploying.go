// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// deployingReason is the reason of conditions Available and Progressing while a component is not Ready, whether KubeVirt is being changed or a
// node is down. Source: KubeVirt 1.7, pkg/virt-operator/util/client.go.
const deployingReason = "DeploymentInProgress"

// unready says why virt-operator reports a deployment in progress; empty if that is because nodes are down for their upgrades, which is the
// only time at which virt-handler may be away. The version was observed: see isUpdating.
func (k *Installation) unready(upgrading sets.Set[string]) string {
	down := sets.New[string]()
	for node, isReady := range k.Handlers {
		if !isReady {
			down.Insert(node)
		}
	}
	others := sets.List(down.Difference(upgrading))
	switch {
	case len(others) > 0:
		return fmt.Sprintf("is not Available, because virt-handler is not Ready on %s: bring it back", strings.Join(others, ", "))
	case k.Controllers > 0 && k.ControllersReady == 0:
		return "is not Available, because none of the Pods of virt-controller is Ready: no virtual machine can be moved without it"
	case down.Len() == 0:
		return "has condition Available=False (" + deployingReason + "): wait until its components are Ready"
	}
	return ""
}

// isDeploying reports whether virt-operator waits for components to be Ready, and has nothing else to say.
func isDeploying(k *kubevirtv1.KubeVirt) bool {
	for i := range k.Status.Conditions {
		if c := &k.Status.Conditions[i]; c.Type == kubevirtv1.KubeVirtConditionAvailable {
			return c.Status == corev1.ConditionFalse && c.Reason == deployingReason
		}
	}
	return false
}
