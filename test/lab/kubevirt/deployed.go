// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	lookAgain = 200 * time.Millisecond
)

// awaitKinds lets hosts run virtual machines as soon as the operator has made KubeVirt's kinds. It does not wait for that:
// the operator needs a Node first.
func (k *KubeVirt) awaitKinds(ctx context.Context) error {
	ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx))
	k.stopped = make(chan struct{})
	go func() {
		defer close(k.stopped)
		err := wait.PollUntilContextCancel(ctx, lookAgain, true, func(ctx context.Context) (bool, error) {
			return k.options.Kube.List(ctx, &kubevirtv1.VirtualMachineInstanceList{}) == nil, nil
		})
		if err != nil {
			return // it was stopped
		}
		if err := k.startHypervisor(ctx); err != nil && ctx.Err() == nil && k.options.Died != nil {
			k.options.Died(fmt.Errorf("starting the hypervisor: %w", err))
		}
	}()
	return nil
}

// AwaitDeployed waits, with Options.Operator, until KubeVirt is deployed in a version, and not being changed.
func (k *KubeVirt) AwaitDeployed(ctx context.Context, version string) error {
	last := &kubevirtv1.KubeVirt{}
	err := wait.PollUntilContextTimeout(ctx, lookAgain, process.Patience, true, func(ctx context.Context) (bool, error) {
		object, err := k.Look(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // the API server may be away
		}
		last = object
		return IsDeployed(object, version), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for KubeVirt %s (%w): its status is %+v", version, err, last.Status)
	}
	return nil
}

// IsDeployed reports whether the operator has deployed a version of KubeVirt, and is not changing it. The phase does not
// tell: it stays Deployed throughout an upgrade.
func IsDeployed(object *kubevirtv1.KubeVirt, version string) bool {
	status := &object.Status
	return status.Phase == kubevirtv1.KubeVirtPhaseDeployed &&
		ptr.Deref(status.ObservedGeneration, 0) == object.Generation &&
		status.ObservedKubeVirtVersion == version && status.TargetKubeVirtVersion == version &&
		status.ObservedDeploymentID == status.TargetDeploymentID &&
		ConditionOf(object, kubevirtv1.KubeVirtConditionAvailable).Status == corev1.ConditionTrue &&
		ConditionOf(object, kubevirtv1.KubeVirtConditionProgressing).Status == corev1.ConditionFalse &&
		ConditionOf(object, kubevirtv1.KubeVirtConditionDegraded).Status == corev1.ConditionFalse
}

// ConditionOf a KubeVirt object; empty if it has none of the kind.
func ConditionOf(object *kubevirtv1.KubeVirt, kind kubevirtv1.KubeVirtConditionType) kubevirtv1.KubeVirtCondition {
	for _, c := range object.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return kubevirtv1.KubeVirtCondition{}
}
