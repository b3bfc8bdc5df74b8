// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

func checkNodeReady(_ *Snapshot, subject *Subject) []infrav1.PreflightResult {
	if workload.IsReady(subject.Node) {
		return pass()
	}
	if subject.FixesForward {
		return warn("Node/"+subject.Node.Name, "is not Ready with the OS that is replaced")
	}
	return block("Node/"+subject.Node.Name, "is not Ready: bring it back before it is upgraded")
}

// checkNodeHealth says what the upgrade will not wait for, since it does not change it.
func checkNodeHealth(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	unhealthy := s.Unhealthy[subject.Node.Name]
	if len(unhealthy) == 0 {
		return pass()
	}
	return warn("Node/"+subject.Node.Name, fmt.Sprintf("%s, for %s or longer: the upgrade does not wait for that after the reboot; repair it first if it should",
		workload.DescribeUnhealthy(unhealthy), workload.UnhealthyFor))
}

// checkNodeSchedulable respects a cordon that is not the attempt's own. Where an upgrade is only requested, none of
// ours counts: the attempt that left it makes room for the new image.
func checkNodeSchedulable(_ *Snapshot, subject *Subject) []infrav1.PreflightResult {
	by := workload.CordonedBy(subject.Node)
	if !subject.Node.Spec.Unschedulable || subject.Drained || by != "" && (subject.Attempt == "" || by == subject.Attempt) {
		return pass()
	}
	return block("Node/"+subject.Node.Name, "was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start")
}

func checkKubeletVersion(_ *Snapshot, subject *Subject) []infrav1.PreflightResult {
	runs, wants := subject.Node.Status.NodeInfo.KubeletVersion, subject.Machine.Spec.Version
	if wants == "" || runs == wants {
		return pass()
	}
	return warn("Node/"+subject.Node.Name, fmt.Sprintf(
		"runs kubelet %s and Machine %s wants %s: the upgrade ends only if the image brings %s", runs, subject.Machine.Name, wants, wants))
}
