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
)

const (
	kubeadmConfigKind = "KubeadmConfig"
	joinConfiguration = "joinConfiguration"
)

// kubeadmControlPlane is the kind of control planes that convert an init configuration.
var kubeadmControlPlane = controlplanev1.GroupVersion.WithKind("KubeadmControlPlane").GroupKind()

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
		was, is := current[field], desired[field]
		if reflect.DeepEqual(was, is) || !reflect.DeepEqual(was, init[field]) || !reflect.DeepEqual(is, join[field]) {
			continue
		}
		pointer := "/spec/" + joinConfiguration + "/" + field
		if is == nil {
			delete(covered, field)
			operations = append(operations, operation{Op: "remove", Path: pointer})
			continue
		}
		covered[field] = is
		operations = append(operations, operation{Op: "add", Path: pointer, Value: is})
	}
	spec := fields(c.bootstrap.current.at("spec"))
	spec[joinConfiguration] = covered
	c.bootstrap.current = document{"spec": spec}
	c.bootstrapPatch, err = asPatch(operations)
	return err
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
