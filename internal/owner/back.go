// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

// ReturnTo says why an owner cannot go to a template name that it used before, and is empty when it can.
// A name that was never used always can be gone to. It is asked at a quiet point.
func (o *Owners) ReturnTo(ctx context.Context, of Owner, template string) (string, error) {
	switch kind := of.(type) {
	case machineDeployment:
		return o.returnToMachineSet(ctx, kind, template)
	case kubeadmControlPlane:
		return o.returnUnderUpdate(ctx, kind, template)
	}
	return "", nil
}

// returnToMachineSet: in the middle of a rollout, Cluster API may take a Machine from the old MachineSet
// at any moment, and that Machine would be deleted if the old one became the current one just then. While
// a Machine is held in its update nothing is taken, and to return is safe.
func (o *Owners) returnToMachineSet(ctx context.Context, md machineDeployment, template string) (string, error) {
	sets, machines, err := o.parts(ctx, md)
	if err != nil {
		return "", err
	}
	half := ""
	for i := range sets {
		replicas := remaining(&sets[i], machines)
		if sets[i].Spec.Template.Spec.InfrastructureRef.Name == template && replicas > 0 && replicas < ptr.Deref(md.Spec.Replicas, 0) {
			half = fmt.Sprintf("MachineSet %s of ElementalMachineTemplate %s is half rolled out (%d of %d Machines)",
				sets[i].Name, template, replicas, ptr.Deref(md.Spec.Replicas, 0))
		}
	}
	if len(withAnnotation(machines, clusterv1.UpdateInProgressAnnotation)) > 0 {
		return "", nil
	}
	return half, nil
}

// returnUnderUpdate: a control plane Machine that was given a template's content counts as up to date
// with it the moment the reference is back, although its host never got that OS.
func (o *Owners) returnUnderUpdate(ctx context.Context, kcp kubeadmControlPlane, template string) (string, error) {
	machines, err := o.machineMetadata(ctx, kcp)
	if err != nil {
		return "", err
	}
	held := []string{}
	for _, name := range withAnnotation(machines, clusterv1.UpdateInProgressAnnotation) {
		from, err := o.clonedFrom(ctx, client.ObjectKey{Namespace: kcp.Namespace, Name: name})
		if err != nil {
			return "", err
		}
		if from == template {
			held = append(held, name)
		}
	}
	if len(held) == 0 {
		return "", nil
	}
	return fmt.Sprintf("Machine %s is still being updated to ElementalMachineTemplate %s", strings.Join(held, ", "), template), nil
}

// clonedFrom is the template that a Machine's ElementalMachine was last given the content of.
func (o *Owners) clonedFrom(ctx context.Context, key client.ObjectKey) (string, error) {
	machine := &clusterv1.Machine{}
	if err := o.Live.Get(ctx, key, machine); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if !association.NamesElementalMachine(machine.Spec.InfrastructureRef) {
		return "", nil
	}
	elementalMachine := &infrav1.ElementalMachine{}
	key.Name = machine.Spec.InfrastructureRef.Name
	if err := o.Live.Get(ctx, key, elementalMachine); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return elementalMachine.Annotations[clusterv1.TemplateClonedFromNameAnnotation], nil
}
