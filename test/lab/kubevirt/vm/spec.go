// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Namespace of virtual machines, unless they are given another.
const Namespace = "vms"

const defaultMemory = "64Mi"

// Spec of a virtual machine to create.
type Spec struct {
	// Namespace, which is created if it does not exist. Default Namespace.
	Namespace string
	Name      string
	// RunStrategy; default Always.
	RunStrategy kubevirtv1.VirtualMachineRunStrategy
	// EvictionStrategy; if empty, the cluster's default applies, which is None.
	EvictionStrategy kubevirtv1.EvictionStrategy
	// Prefer is a node that the guest prefers, and can leave. Require is a node that it is bound to
	// by a node selector, and cannot leave.
	Prefer, Require string
	// Memory of the guest. Default 64Mi.
	Memory string
	// Asks are annotations of package hypervisor that make the guest misbehave.
	Asks map[string]string
	// Labels of the VirtualMachine and its instances.
	Labels map[string]string
	// Change is applied last. Default: nothing.
	Change func(*kubevirtv1.VirtualMachine)
}

// New is the VirtualMachine of a Spec.
func New(spec Spec) *kubevirtv1.VirtualMachine {
	machine := &kubevirtv1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(spec.Namespace, Namespace), Name: spec.Name, Labels: spec.Labels},
		Spec: kubevirtv1.VirtualMachineSpec{
			RunStrategy: ptr.To(cmp.Or(spec.RunStrategy, kubevirtv1.RunStrategyAlways)),
			Template: &kubevirtv1.VirtualMachineInstanceTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: spec.Labels, Annotations: spec.Asks},
				Spec:       spec.instance(),
			},
		},
	}
	if spec.Change != nil {
		spec.Change(machine)
	}
	return machine
}

func (s Spec) instance() kubevirtv1.VirtualMachineInstanceSpec {
	instance := kubevirtv1.VirtualMachineInstanceSpec{
		Domain: kubevirtv1.DomainSpec{
			Memory: &kubevirtv1.Memory{Guest: ptr.To(resource.MustParse(cmp.Or(s.Memory, defaultMemory)))},
			Devices: kubevirtv1.Devices{Interfaces: []kubevirtv1.Interface{{
				Name: "default", InterfaceBindingMethod: kubevirtv1.InterfaceBindingMethod{Masquerade: &kubevirtv1.InterfaceMasquerade{}},
			}}},
		},
		Networks: []kubevirtv1.Network{*kubevirtv1.DefaultPodNetwork()},
	}
	if s.EvictionStrategy != "" {
		instance.EvictionStrategy = ptr.To(s.EvictionStrategy)
	}
	if s.Prefer != "" {
		instance.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 100, // the maximum
				Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{s.Prefer},
				}}},
			}},
		}}
	}
	if s.Require != "" {
		instance.NodeSelector = map[string]string{corev1.LabelHostname: s.Require}
	}
	return instance
}

// Create creates a virtual machine, and its Namespace.
func Create(ctx context.Context, kube client.Client, spec Spec) (*kubevirtv1.VirtualMachine, error) {
	machine := New(spec)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: machine.Namespace}}
	if err := kube.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating Namespace %s: %w", machine.Namespace, err)
	}
	if err := kube.Create(ctx, machine); err != nil {
		return nil, fmt.Errorf("creating VirtualMachine %s: %w", machine.Name, err)
	}
	return machine, nil
}
