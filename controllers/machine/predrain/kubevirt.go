// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// KubeVirt has the virtual machines of clusters with KubeVirt.
type KubeVirt struct{}

var _ VirtualMachines = KubeVirt{}

// Present looks at the Node first, and asks the API server itself then: what is known of its kinds does not say that
// KubeVirt was uninstalled.
func (KubeVirt) Present(ctx context.Context, cluster *workload.Cluster, node *corev1.Node) (bool, error) {
	if _, labelled := node.Labels[kubevirt.SchedulableLabel]; !labelled {
		return false, nil
	}
	instances := &metav1.PartialObjectMetadataList{}
	instances.SetGroupVersionKind(kubevirtv1.VirtualMachineInstanceGroupVersionKind)
	err := cluster.Live().List(ctx, instances, client.Limit(1))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for virtual machines: %w", err)
	}
	return true, nil
}

// Evacuate moves them, stops them, or waits, as an upgrade of the Node would.
func (KubeVirt) Evacuate(ctx context.Context, e Evacuation) (Progress, error) {
	progress, err := kubevirt.Evacuate(ctx, kubevirt.Resident{}.Evacuation(e.Cluster, kubevirt.Evacuation{
		Node: e.Node, Attempt: e.Attempt, Policy: e.Policy, Since: e.Since,
	}))
	return progressOf(progress), err
}

// Restore brings back what was stopped for the Node, by whomever.
func (KubeVirt) Restore(ctx context.Context, e Evacuation) (Progress, error) {
	progress, err := kubevirt.Restore(ctx, kubevirt.Restoration{
		Client: e.Cluster.Live(), NodeName: e.NodeName, Node: e.Node, Attempt: e.Attempt, Others: true,
	})
	return progressOf(progress), err
}

// progressOf has many looked at less often than few: KubeVirt moves two at a time.
func progressOf(progress kubevirt.Progress) Progress {
	const (
		shortest, longest = 2 * time.Second, 15 * time.Second
		perVM             = 100 * time.Millisecond
	)
	return Progress{
		Done: progress.Done, Held: progress.Held, Message: progress.Message,
		After: min(max(shortest, time.Duration(progress.Left)*perVM), longest),
	}
}
