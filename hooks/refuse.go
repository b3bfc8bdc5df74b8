// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const (
	// refuseAction is the action of the event.
	refuseAction = "Refuse"
	// maxNote is the maximum length of a note in the events API, less a margin for the ellipsis.
	maxNote = 1000
)

// tellOwners emits events about the refusal on the owners, since Cluster API only logs it. The message is deterministic, so that the
// recorder aggregates the events into one series.
func (h *Handlers) tellOwners(ctx context.Context, c *change, message string) {
	if len(message) > maxNote {
		message = message[:maxNote] + "..."
	}
	for _, object := range h.ownersToTell(ctx, c) {
		h.Recorder.Eventf(object, nil, corev1.EventTypeWarning, infrav1.EventInPlaceRefused, refuseAction, "%s", message)
	}
}

func (h *Handlers) ownersToTell(ctx context.Context, c *change) []runtime.Object {
	told := []runtime.Object{}
	if c.toTemplate != "" {
		told = h.add(ctx, told, c.namespace, c.toTemplate, &infrav1.ElementalMachineTemplate{})
	}
	if c.machineDeployment != "" {
		told = h.add(ctx, told, c.namespace, c.machineDeployment, &clusterv1.MachineDeployment{})
	}
	machine := &clusterv1.Machine{}
	if c.machine == "" || h.Client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.machine}, machine) != nil {
		return told
	}
	told = append(told, machine)
	if controller := metav1.GetControllerOf(machine); controller != nil {
		told = append(told, &corev1.ObjectReference{
			APIVersion: controller.APIVersion, Kind: controller.Kind,
			Namespace: c.namespace, Name: controller.Name, UID: controller.UID,
		})
	}
	return told
}

// add appends an object that exists. One that cannot be read gets no event; the refusal does not depend on it.
func (h *Handlers) add(ctx context.Context, told []runtime.Object, namespace, name string, object client.Object) []runtime.Object {
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		ctrl.LoggerFrom(ctx).V(4).Info("Failed to read an owner of a refused change", "name", name, "err", err.Error())
		return told
	}
	return append(told, object)
}
