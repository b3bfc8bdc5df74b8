// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

const (
	kubeadmConfigKind = "KubeadmConfig"
	joinConfiguration = "joinConfiguration"
)

// kubeadmControlPlane is the kind of control planes that convert an init configuration.
var kubeadmControlPlane = controlplanev1.GroupVersion.WithKind(owner.KubeadmControlPlaneKind).GroupKind()

// coverInit covers what differs in the bootstrap object of the Machine that "kubeadm init" has made only because its control plane configures
// init and join differently (capiworkaround.InitFields). What the control plane wants is read from the API server.
func (h *Handlers) coverInit(ctx context.Context, c *change) error {
	current, _ := c.bootstrap.current.at("spec", joinConfiguration).(map[string]any)
	desired, _ := c.bootstrap.desired.at("spec", joinConfiguration).(map[string]any)
	if c.bootstrap.kind() != kubeadmConfigKind || current == nil || desired == nil || reflect.DeepEqual(current, desired) {
		return nil
	}
	init, join, err := h.controlPlaneConfig(ctx, c)
	if err != nil || init == nil {
		return err
	}
	covered, operations := maps.Clone(current), []operation{}
	for _, field := range capiworkaround.InitFields {
		isConverted := reflect.DeepEqual(current[field], init[field]) && reflect.DeepEqual(desired[field], join[field])
		if isConverted && !reflect.DeepEqual(current[field], desired[field]) {
			operations = append(operations, replaceField(covered, field, desired[field]))
		}
	}
	spec := fields(c.bootstrap.current.at("spec"))
	spec[joinConfiguration] = covered
	c.bootstrap.current = document{"spec": spec}
	c.bootstrapPatch, err = asPatch(operations)
	return err
}

// replaceField sets a field of a joinConfiguration, or removes it, and returns the operation that does so.
func replaceField(of map[string]any, field string, value any) operation {
	pointer := "/spec/" + joinConfiguration + "/" + field
	if value == nil {
		delete(of, field)
		return operation{Op: "remove", Path: pointer}
	}
	of[field] = value
	return operation{Op: "add", Path: pointer, Value: value}
}

// controlPlaneConfig are the init and join configurations that the KubeadmControlPlane of a Machine wants; nil if it has none.
func (h *Handlers) controlPlaneConfig(ctx context.Context, c *change) (init, join map[string]any, err error) {
	machine := &clusterv1.Machine{}
	if err := h.Live.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.machine}, machine); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	controller := metav1.GetControllerOf(machine)
	if controller == nil || schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind() != kubeadmControlPlane {
		return nil, nil, nil
	}
	wanted := &controlplanev1.KubeadmControlPlane{}
	if err := h.Live.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: controller.Name}, wanted); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	config, err := toDocument(wanted.Spec.KubeadmConfigSpec)
	return fields(config.at("initConfiguration")), fields(config.at(joinConfiguration)), err
}
