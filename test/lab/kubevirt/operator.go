// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deploymentID identifies the operator's configuration; any string.
const deploymentID = "lab"

// deploy creates the KubeVirt object, and sets the status that the operator sets when it is healthy.
func (k *KubeVirt) deploy(ctx context.Context) error {
	err := k.create(ctx, &kubevirtv1.KubeVirt{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name},
		Spec: kubevirtv1.KubeVirtSpec{Configuration: kubevirtv1.KubeVirtConfiguration{
			DeveloperConfiguration: &kubevirtv1.DeveloperConfiguration{
				LogVerbosity: &kubevirtv1.LogVerbosity{VirtAPI: 2, VirtController: 3},
			},
		}},
	})
	if err != nil {
		return err
	}
	return k.Report(ctx, Healthy)
}

// Configure changes the configuration of the KubeVirt object, as `kubectl edit kubevirt` would, and, without
// Options.Operator, sets its observed generation. virt-api and virt-controller follow within about a second.
func (k *KubeVirt) Configure(ctx context.Context, change func(*kubevirtv1.KubeVirtConfiguration)) error {
	if err := k.Edit(ctx, func(spec *kubevirtv1.KubeVirtSpec) { change(&spec.Configuration) }); err != nil || k.options.Operator {
		return err
	}
	return k.Report(ctx, func(object *kubevirtv1.KubeVirt) { object.Status.ObservedGeneration = ptr.To(object.Generation) })
}

// Edit changes the spec of the KubeVirt object, as `kubectl edit kubevirt` would.
func (k *KubeVirt) Edit(ctx context.Context, change func(*kubevirtv1.KubeVirtSpec)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := k.Look(ctx)
		if err != nil {
			return err
		}
		change(&object.Spec)
		return k.options.Kube.Update(ctx, object)
	})
	if err != nil {
		return fmt.Errorf("configuring KubeVirt: %w", err)
	}
	return nil
}

// Look reads the KubeVirt object.
func (k *KubeVirt) Look(ctx context.Context) (*kubevirtv1.KubeVirt, error) {
	object := &kubevirtv1.KubeVirt{}
	if err := k.options.Kube.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: Name}, object); err != nil {
		return nil, fmt.Errorf("reading KubeVirt %s/%s: %w", Namespace, Name, err)
	}
	return object, nil
}

// Report changes the status of the KubeVirt object, without Options.Operator. Nothing reverts it: call it with Healthy in
// the end.
func (k *KubeVirt) Report(ctx context.Context, change func(*kubevirtv1.KubeVirt)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := k.Look(ctx)
		if err != nil {
			return err
		}
		change(object)
		return k.options.Kube.Status().Update(ctx, object)
	})
	if err != nil {
		return fmt.Errorf("reporting the status of KubeVirt: %w", err)
	}
	return nil
}

// Healthy sets the status of a KubeVirt that is deployed and not being changed. Source: KubeVirt 1.7,
// pkg/virt-operator/util/client.go.
func Healthy(object *kubevirtv1.KubeVirt) {
	object.Status.Phase = kubevirtv1.KubeVirtPhaseDeployed
	object.Status.DefaultArchitecture = runtime.GOARCH
	object.Status.OperatorVersion = Version
	object.Status.ObservedKubeVirtVersion, object.Status.TargetKubeVirtVersion = Version, Version
	object.Status.ObservedKubeVirtRegistry, object.Status.TargetKubeVirtRegistry = "quay.io/kubevirt", "quay.io/kubevirt"
	object.Status.ObservedDeploymentID, object.Status.TargetDeploymentID = deploymentID, deploymentID
	object.Status.ObservedGeneration = ptr.To(object.Generation)
	object.Status.OutdatedVirtualMachineInstanceWorkloads = ptr.To(0)
	const ready = "AllComponentsReady"
	setCondition(object, kubevirtv1.KubeVirtConditionAvailable, corev1.ConditionTrue, ready, "All components are ready.")
	setCondition(object, kubevirtv1.KubeVirtConditionProgressing, corev1.ConditionFalse, ready, "All components are ready.")
	setCondition(object, kubevirtv1.KubeVirtConditionDegraded, corev1.ConditionFalse, ready, "All components are ready.")
	setCondition(object, kubevirtv1.KubeVirtConditionCreated, corev1.ConditionTrue, "AllResourcesCreated", "All resources were created.")
}

// Upgrading sets the status of a KubeVirt that is being upgraded to a version. The phase stays Deployed.
func Upgrading(version string) func(*kubevirtv1.KubeVirt) {
	return func(object *kubevirtv1.KubeVirt) {
		object.Status.TargetKubeVirtVersion, object.Status.TargetDeploymentID = version, version
		message := fmt.Sprintf("Transitioning from previous version %s with registry %s to target version %s using registry %s",
			object.Status.ObservedKubeVirtVersion, object.Status.ObservedKubeVirtRegistry, version, object.Status.TargetKubeVirtRegistry)
		object.Status.Conditions = nil
		for _, kind := range []kubevirtv1.KubeVirtConditionType{
			kubevirtv1.KubeVirtConditionAvailable, kubevirtv1.KubeVirtConditionProgressing, kubevirtv1.KubeVirtConditionDegraded,
		} {
			setCondition(object, kind, corev1.ConditionTrue, "UpdateInProgress", message)
		}
	}
}

func setCondition(object *kubevirtv1.KubeVirt, kind kubevirtv1.KubeVirtConditionType, status corev1.ConditionStatus, reason, message string) {
	now := metav1.Now()
	condition := kubevirtv1.KubeVirtCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now,
	}
	for i := range object.Status.Conditions {
		if object.Status.Conditions[i].Type == kind {
			object.Status.Conditions[i] = condition
			return
		}
	}
	object.Status.Conditions = append(object.Status.Conditions, condition)
}
