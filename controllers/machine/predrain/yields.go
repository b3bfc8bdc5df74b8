// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain

import (
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// yields says why the deletion of a Machine does not wait for its virtual machines, or no more; empty while it does.
// A node that is dead, whose virtual machines nobody can move, must not keep its Machine from being remediated.
func yields(s *scope) string {
	switch {
	case s.cluster == nil || !s.cluster.DeletionTimestamp.IsZero():
		return "the Cluster is being deleted"
	case !s.machine.Status.NodeRef.IsDefined():
		return "the Machine has no Node"
	case isExcluded(s.machine):
		return "the Machine is excluded from draining by annotation " + clusterv1.ExcludeNodeDrainingAnnotation
	case isTimedOut(s):
		return "spec.deletion.nodeDrainTimeoutSeconds of the Machine has passed"
	}
	return nodeYields(s)
}

// nodeYields is the part of it that the workload cluster shows.
func nodeYields(s *scope) string {
	switch {
	case s.workload == nil && !inTime(s):
		return "the API server of the workload cluster has not answered for " + patience(s).String()
	case s.workload != nil && s.node == nil:
		return "Node " + s.machine.Status.NodeRef.Name + " is gone"
	case s.node != nil && workload.IsUnreachable(s.node):
		return "the kubelet of Node " + s.node.Name + " does not answer"
	}
	return ""
}

// patience is how long after its deletion a Machine waits for a workload cluster that does not answer, of which it is not
// known whether the node is dead: as long as Cluster API would drain it, or, where that has no end, as a host may be away.
func patience(s *scope) time.Duration {
	if seconds := ptr.Deref(s.machine.Spec.Deletion.NodeDrainTimeoutSeconds, 0); seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return s.options.Timeouts.Reboot()
}

func inTime(s *scope) bool {
	return s.deletedFor < patience(s)
}

// hasTime reports whether a workload cluster that fails may be tried again although the Node is not waited for: not for one
// that is known to be dead, whose Machine is about to be remediated.
func hasTime(s *scope) bool {
	return (s.node == nil || !workload.IsUnreachable(s.node)) && inTime(s)
}

func isExcluded(machine *clusterv1.Machine) bool {
	_, excluded := machine.Annotations[clusterv1.ExcludeNodeDrainingAnnotation]
	return excluded
}

// isTimedOut counts Cluster API's time-out of a drain from the deletion on: what the hook takes is a part of it. Zero is
// no time-out there, too.
func isTimedOut(s *scope) bool {
	seconds := ptr.Deref(s.machine.Spec.Deletion.NodeDrainTimeoutSeconds, 0)
	return seconds > 0 && s.deletedFor >= time.Duration(seconds)*time.Second
}
