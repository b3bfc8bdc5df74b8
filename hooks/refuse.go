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
	// refuseAction is what was done about the change, in the events API's terms.
	refuseAction = "Refuse"
	// maxNote is the longest note that the events API takes, less a margin for the ellipsis.
	maxNote = 1000
)

// tellOwners emits the refusal where people look. Cluster API itself shows nothing of it but a line in
// its log. The message is the same every time, so that the recorder makes one series of it.
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

// add appends an object that exists. One that cannot be read is not told: the refusal stands all the same.
func (h *Handlers) add(ctx context.Context, told []runtime.Object, namespace, name string, object client.Object) []runtime.Object {
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		ctrl.LoggerFrom(ctx).V(4).Info("Failed to read an object to tell of a refused change", "name", name, "err", err.Error())
		return told
	}
	return append(told, object)
}
