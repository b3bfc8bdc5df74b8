// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// What K3s and RKE2 leave on Nodes. Each server has the role of a control plane, and each that runs etcd the role and the name of its member besides.
// Source: k3s 1.36, pkg/etcd (metadata controller) and pkg/util (labels).
const (
	controlPlaneRole = "node-role.kubernetes.io/control-plane"
	etcdRole         = "node-role.kubernetes.io/etcd"
	k3sMember        = "etcd.k3s.cattle.io/node-name"
	rke2Member       = "etcd.rke2.cattle.io/node-name"
)

// hasExternalDatastore reports whether it is certain that no node of a control plane is a member of etcd. Where anything is missing that would say
// so, it is not: a quorum that is taken for none would be lost.
func (s *Snapshot) hasExternalDatastore(machines []*clusterv1.Machine) bool {
	if slices.ContainsFunc(s.StaticPods, func(pod corev1.Pod) bool { return pod.Labels[componentLabel] == etcdComponent }) ||
		slices.ContainsFunc(s.Nodes, func(node corev1.Node) bool { return isEtcdMember(&node) }) {
		return false
	}
	return len(machines) > 0 && !slices.ContainsFunc(machines, func(machine *clusterv1.Machine) bool {
		return !owner.HasExternalEtcd(machine) && !isServerOfRancher(s.node(machine.Status.NodeRef.Name))
	})
}

func isEtcdMember(node *corev1.Node) bool {
	_, hasRole := node.Labels[etcdRole]
	return hasRole || node.Annotations[k3sMember] != "" || node.Annotations[rke2Member] != ""
}

// isServerOfRancher reports whether a Node is a server of K3s or RKE2, which would name its member of etcd.
func isServerOfRancher(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	version := node.Status.NodeInfo.KubeletVersion
	_, isServer := node.Labels[controlPlaneRole]
	return isServer && (strings.Contains(version, "+k3s") || strings.Contains(version, "+rke2"))
}
