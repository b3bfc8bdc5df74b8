// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
)

// judgeUpgrading reports whether the machine's Node is out of service for an attempt. It turns True only where the Machine is marked for its health checks,
// one of which may look at what is reported here; the host of one that is not marked any more is lost.
func judgeUpgrading(f osFacts) {
	const upgrading = infrav1.UpgradingCondition
	attempt := f.disrupting
	switch {
	case attempt == nil && conditions.Has(f.machine, upgrading):
		condition.False(f.machine, upgrading, infrav1.NotUpgradingReason, "")
	case attempt == nil:
	case attempt.PhaseNow() == infrav1.UpgradeHostLost:
		condition.TrueBecause(f.machine, upgrading, infrav1.HostLostReason, "ElementalHost %s is lost: see ElementalHostUpgrade %s", attempt.Spec.HostName, attempt.Name)
	case f.skipsRemediation() || conditions.IsTrue(f.machine, upgrading):
		condition.TrueBecause(f.machine, upgrading, infrav1.UpgradingReason, "Node %s is out of service for ElementalHostUpgrade %s", attempt.Status.NodeName, attempt.Name)
	}
}

func (f osFacts) skipsRemediation() bool {
	return f.owner != nil && metav1.HasAnnotation(f.owner.ObjectMeta, clusterv1.MachineSkipRemediationAnnotation)
}
