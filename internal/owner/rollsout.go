// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=get

// RollsOut says, from a live read, that the control plane that owns a Machine rolls out a change of its own, or is about to, for which it may
// replace the Machine; empty if it does not, or the Machine has no such owner.
func RollsOut(ctx context.Context, live client.Reader, machine *clusterv1.Machine) (string, error) {
	controller := metav1.GetControllerOf(machine)
	switch {
	case controller == nil:
		return replacesMachine(machine), nil
	case isOfMachineSet(machine) && rancher.MayOwn(machine):
		return rollsOutPool(ctx, live, machine)
	}
	version, err := schema.ParseGroupVersion(controller.APIVersion)
	if err != nil || version.Group != controlplanev1.GroupVersion.Group {
		return replacesMachine(machine), nil
	}
	of := &unstructured.Unstructured{}
	of.SetGroupVersionKind(version.WithKind(controller.Kind))
	switch err := live.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: controller.Name}, of); {
	case existing.IsAbsent(err):
		return replacesMachine(machine), nil
	case err != nil:
		return "", fmt.Errorf("reading %s %s: %w", controller.Kind, controller.Name, err)
	}
	return ControlPlaneRollsOut(of, machine), nil
}

// ControlPlaneRollsOut says the same of a control plane of any kind, by Cluster API's contract.
func ControlPlaneRollsOut(of *unstructured.Unstructured, machine *clusterv1.Machine) string {
	name := of.GetKind() + " " + of.GetName()
	if observed, known, _ := unstructured.NestedInt64(of.Object, "status", "observedGeneration"); known && observed != of.GetGeneration() {
		return name + " was changed and has not been acted on yet"
	}
	if why := replacesMachine(machine); why != "" {
		return why
	}
	all, known, _ := unstructured.NestedInt64(of.Object, "status", "replicas")
	for _, field := range []string{"upToDateReplicas", "updatedReplicas"} { // of contract v1beta2, and of v1beta1
		upToDate, reported, _ := unstructured.NestedInt64(of.Object, "status", field)
		if known && reported && upToDate < all {
			return fmt.Sprintf("%s rolls out another change: status.%s is %d of %d", name, field, upToDate, all)
		}
	}
	return ""
}

// replacesMachine says by a Machine that its owner may replace it. Providers of contract v1beta1 do not set the condition.
func replacesMachine(machine *clusterv1.Machine) string {
	if !conditions.IsFalse(machine, clusterv1.MachineUpToDateCondition) {
		return ""
	}
	return fmt.Sprintf("the owner of Machine %s rolls out another change, as the Machine's condition UpToDate is False: %s",
		machine.Name, conditions.GetMessage(machine, clusterv1.MachineUpToDateCondition))
}
