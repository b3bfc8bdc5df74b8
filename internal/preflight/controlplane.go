// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// tierLabel and componentLabel are what kubeadm gives the static Pods of a control plane, and RKE2, too.
// Source: kubeadm, cmd/kubeadm/app/util/staticpod.
const (
	tierLabel      = "tier"
	tierValue      = "control-plane"
	componentLabel = "component"
	etcdComponent  = "etcd"
)

// readControlPlane replaces what the snapshot has of the control plane by what is so now: its Machines, its Nodes, its static
// Pods and its Leases. KubeadmControlPlane's conditions of a Machine may be ten minutes old, and show no member of etcd that has
// stopped since; its static Pod is not Ready then, or gone.
func (r *Reader) readControlPlane(ctx context.Context, from Sources, s *Snapshot) error {
	machines, err := owner.ControlPlaneMachines(ctx, from.LiveControlPlane, from.Cluster.Namespace, from.Cluster.Name)
	if err != nil {
		return err
	}
	workers := slices.DeleteFunc(slices.Clone(s.Machines), func(m clusterv1.Machine) bool { return util.IsControlPlaneMachine(&m) })
	s.Machines = append(workers, machines...)
	pods := &corev1.PodList{}
	err = from.Workload.Live().List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{tierLabel: tierValue})
	if err != nil {
		return fmt.Errorf("listing the static Pods of the control plane: %w", err)
	}
	// Other Pods may have the label, too, as those of a cloud controller manager.
	s.StaticPods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Annotations[corev1.MirrorPodAnnotationKey] == "" })
	return r.readLeases(ctx, from, s)
}
