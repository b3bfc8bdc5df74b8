// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ownertest

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

// Observe updates the status of an owner or MachineSet as its controller does after reconciling it: observedGeneration,
// the numbers of Machines and, for a MachineDeployment, the condition Paused.
func Observe(ctx context.Context, c client.Client, object client.Object, machines int32) {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	switch kind := object.(type) {
	case *clusterv1.MachineDeployment:
		kind.Status.ObservedGeneration, kind.Status.Replicas = kind.Generation, ptr.To(machines)
		conditions.Set(kind, paused(kind))
	case *clusterv1.MachineSet:
		kind.Status.ObservedGeneration, kind.Status.Replicas = kind.Generation, ptr.To(machines)
	case *controlplanev1.KubeadmControlPlane:
		kind.Status.ObservedGeneration, kind.Status.Replicas = kind.Generation, ptr.To(machines)
	case *rke2.ControlPlane:
		kind.Status.ObservedGeneration = kind.Generation
	default:
		Fail(fmt.Sprintf("%T is no owner", object))
	}
	Expect(c.Status().Update(ctx, object)).To(Succeed())
}

// paused is the condition Paused, with a transition some time ago.
func paused(md *clusterv1.MachineDeployment) metav1.Condition {
	said := metav1.Condition{
		Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason,
		LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
	}
	if annotations.HasPaused(md) {
		said.Status, said.Reason = metav1.ConditionTrue, clusterv1.PausedReason
	}
	return said
}
