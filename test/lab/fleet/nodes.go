// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

const (
	// renewEvery and leaseSeconds are a kubelet's.
	renewEvery   = 10 * time.Second
	leaseSeconds = 40
	// renewers is the number of Leases that are renewed concurrently.
	renewers = 4
)

// nodes simulates the kubelets of all hosts.
type nodes struct {
	kube    kubernetes.Interface
	version string

	lock   sync.Mutex
	joined []string
}

func newNodes(kube kubernetes.Interface, version string) *nodes {
	return &nodes{kube: kube, version: version}
}

// join creates the Node of a host with its Lease. It is idempotent.
func (n *nodes) join(ctx context.Context, name, bootID string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH,
	}}}
	if _, err := n.kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("registering Node %s: %w", name, err)
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &name, LeaseDurationSeconds: ptr.To[int32](leaseSeconds), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}
	leases := n.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if _, err := leases.Create(ctx, lease, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the Lease of Node %s: %w", name, err)
	}
	if err := n.booted(ctx, name, bootID); err != nil {
		return err
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	n.joined = append(n.joined, name)
	return nil
}

// booted makes a Node Ready with a boot ID.
func (n *nodes) booted(ctx context.Context, name, bootID string) error {
	now := metav1.Now()
	status := corev1.NodeStatus{
		Capacity: kubelet.Allocatable(), Allocatable: kubelet.Allocatable(),
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
		NodeInfo: corev1.NodeSystemInfo{
			BootID: bootID, KubeletVersion: n.version, OperatingSystem: "linux", Architecture: runtime.GOARCH,
		},
		Conditions: conditionsAt(now),
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = n.kube.CoreV1().Nodes().PatchStatus(ctx, name, patch)
	if err != nil {
		return fmt.Errorf("reporting the status of Node %s: %w", name, err)
	}
	return nil
}

// renew renews the Leases of all Nodes until ctx ends.
func (n *nodes) renew(ctx context.Context) {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		renewing := errgroup.Group{}
		renewing.SetLimit(renewers)
		for _, name := range n.names() {
			renewing.Go(func() error { return n.renewLease(ctx, name) })
		}
		_ = renewing.Wait() // Leases that failed are renewed in the next period
	}
}

func (n *nodes) names() []string {
	n.lock.Lock()
	defer n.lock.Unlock()
	return slices.Clone(n.joined)
}

func (n *nodes) renewLease(ctx context.Context, name string) error {
	patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
	_, err := n.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).
		Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// conditionsAt are those that a kubelet reports. If any of them is missing, Cluster API considers the Machine
// unavailable.
func conditionsAt(now metav1.Time) []corev1.NodeCondition {
	conditions := []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status",
	}}
	for _, pressure := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		conditions = append(conditions, corev1.NodeCondition{Type: pressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficient"})
	}
	for i := range conditions {
		conditions[i].LastHeartbeatTime, conditions[i].LastTransitionTime = now, now
	}
	return conditions
}
