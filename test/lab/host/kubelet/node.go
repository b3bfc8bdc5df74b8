// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"runtime"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// Allocatable is the default capacity of a node of the lab.
func Allocatable() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("8"),
		corev1.ResourceMemory:           resource.MustParse("32Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
}

func (w *Writer) node(j Join) *corev1.Node {
	labels := map[string]string{
		corev1.LabelHostname:   j.NodeName,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: runtime.GOARCH,
	}
	maps.Copy(labels, j.Labels)
	maps.Copy(labels, w.opts.Labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: j.NodeName, Labels: labels, Annotations: w.opts.Annotations},
		Spec:       corev1.NodeSpec{Taints: j.Taints, ProviderID: j.ProviderID},
	}
}

// report writes the status if it is due or the Node differs from it: after an outage the node lifecycle
// controller has set its conditions to Unknown.
func (w *Writer) report(ctx context.Context, b Boot, due bool) error {
	err := w.updateStatus(ctx, b.Join.NodeName, func(status *corev1.NodeStatus) bool {
		current := status.NodeInfo.BootID == b.BootID
		for _, c := range status.Conditions {
			current = current && (c.Type != corev1.NodeReady || c.Status == corev1.ConditionTrue)
		}
		if current && !due {
			return false
		}
		w.fill(status, b)
		return true
	})
	if err != nil {
		return fmt.Errorf("reporting node status: %w", err)
	}
	return nil
}

// updateStatus writes a change of the status, and retries after a conflict, as a kubelet does.
func (w *Writer) updateStatus(ctx context.Context, name string, change func(*corev1.NodeStatus) (changed bool)) error {
	nodes := w.client.CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil || !change(&node.Status) {
			return err
		}
		_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

func (w *Writer) fill(s *corev1.NodeStatus, b Boot) {
	s.Capacity, s.Allocatable = w.opts.Allocatable.DeepCopy(), w.opts.Allocatable.DeepCopy()
	s.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: w.address(b.Join.NodeName)},
		{Type: corev1.NodeHostName, Address: b.Join.NodeName},
	}
	s.DaemonEndpoints.KubeletEndpoint.Port = b.port
	s.NodeInfo = corev1.NodeSystemInfo{
		BootID:                  b.BootID,
		MachineID:               b.MachineID,
		SystemUUID:              b.MachineID,
		OSImage:                 b.OSImage,
		KubeletVersion:          b.KubeletVersion,
		KernelVersion:           "6.12.0-lab",
		ContainerRuntimeVersion: "containerd://2.2.0",
		OperatingSystem:         "linux",
		Architecture:            runtime.GOARCH,
	}
	setCondition(s, w.condition(corev1.NodeMemoryPressure, corev1.ConditionFalse,
		"KubeletHasSufficientMemory", "kubelet has sufficient memory available"))
	setCondition(s, w.condition(corev1.NodeDiskPressure, corev1.ConditionFalse,
		"KubeletHasNoDiskPressure", "kubelet has no disk pressure"))
	setCondition(s, w.condition(corev1.NodePIDPressure, corev1.ConditionFalse,
		"KubeletHasSufficientPID", "kubelet has sufficient PID available"))
	setCondition(s, w.condition(corev1.NodeReady, corev1.ConditionTrue, reasonReady, messageReady))
}

// address derives an address from the Node's name, because all hosts share the machine's addresses.
func (w *Writer) address(name string) string {
	if w.opts.Address != "" {
		return w.opts.Address
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name))
	n := sum.Sum32()
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16&0x7f, n>>8&0xff, 1+n%254)
}

func (w *Writer) condition(t corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
	now := metav1.NewTime(w.opts.Clock.Now())
	return corev1.NodeCondition{
		Type: t, Status: status, Reason: reason, Message: message,
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
}

func setCondition(s *corev1.NodeStatus, c corev1.NodeCondition) {
	for i, old := range s.Conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		s.Conditions[i] = c
		return
	}
	s.Conditions = append(s.Conditions, c)
}

// renew renews the Lease that shows that the kubelet is alive.
func (w *Writer) renew(ctx context.Context, name string) error {
	leases := w.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NewMicroTime(w.opts.Clock.Now())
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return w.makeLease(ctx, name, now)
	}
	if err != nil {
		return fmt.Errorf("renewing lease of node %s: %w", name, err)
	}
	lease.Spec.RenewTime = &now
	if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("renewing lease of node %s: %w", name, err)
	}
	return nil
}

func (w *Writer) makeLease(ctx context.Context, name string, now metav1.MicroTime) error {
	node, err := w.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("making lease of node %s: %w", name, err)
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID},
		}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &name, LeaseDurationSeconds: ptr.To[int32](leaseSeconds), RenewTime: &now,
		},
	}
	if _, err := w.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making lease of node %s: %w", name, err)
	}
	return nil
}
