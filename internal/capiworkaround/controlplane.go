// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

func judgeControlPlane(ctx context.Context, owners *owner.Owners, of owner.ControlPlane) (Verdict, error) {
	machines, err := owners.Machines(ctx, of)
	if err != nil {
		return Verdict{}, err
	}
	returns, err := halfUpdated(ctx, owners.Live, machines)
	if err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{NotQuiet: unobserved(owners, of, of.ObservedGeneration()), returns: returns}
	for i := range machines {
		if verdict.NotQuiet == "" {
			verdict.NotQuiet = machineNotQuiet(of, &machines[i])
		}
	}
	return verdict, nil
}

// machineNotQuiet: of the Machines that a KubeadmControlPlane wants to change it takes an unhealthy one first, and
// when only that one is unhealthy it deletes it instead of updating it; CAPRKE2 deletes it, too, when it takes it. One that is being
// updated is left alone, and the way out of a bad update is another reference. While one is being deleted nothing else is done.
func machineNotQuiet(of owner.ControlPlane, machine *clusterv1.Machine) string {
	switch {
	case owner.IsUpdating(machine), !machine.DeletionTimestamp.IsZero():
		return ""
	case !machine.Status.NodeRef.IsDefined():
		return fmt.Sprintf("Machine %s has no Node yet", machine.Name)
	}
	for _, annotation := range []string{clusterv1.DeleteMachineAnnotation, clusterv1.RemediateMachineAnnotation} {
		if metav1.HasAnnotation(machine.ObjectMeta, annotation) {
			return fmt.Sprintf("Machine %s has the annotation %s, and %s deletes such a Machine instead of updating it: remove the annotation, or delete the Machine",
				machine.Name, annotation, of.Kind())
		}
	}
	if missing := owner.Unjudged(of, machine); missing != "" {
		return fmt.Sprintf("Machine %s has no condition %s yet", machine.Name, missing)
	}
	if unhealthy := owner.Unhealthy(machine); len(unhealthy) > 0 {
		return fmt.Sprintf("Machine %s is unhealthy (%s), and %s deletes such a Machine instead of updating it: repair its node first",
			machine.Name, strings.Join(unhealthy, ", "), of.Kind())
	}
	return ""
}

// halfUpdated are the templates that Machines of a control plane are being updated to. Such a Machine counts as up to date
// with its template's content the moment the reference is back, although its host never got that OS.
func halfUpdated(ctx context.Context, live client.Reader, machines []clusterv1.Machine) (map[string]string, error) {
	updating := map[string][]string{}
	for i := range machines {
		machine := &machines[i]
		if !owner.IsUpdating(machine) || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		template, err := clonedFrom(ctx, live, machine)
		if err != nil {
			return nil, err
		}
		updating[template] = append(updating[template], machine.Name)
	}
	reasons := map[string]string{}
	for template, names := range updating {
		reasons[template] = fmt.Sprintf("Machine %s is still being updated to ElementalMachineTemplate %s", strings.Join(names, ", "), template)
	}
	return reasons, nil
}

// clonedFrom is the template that a Machine's ElementalMachine was last given the content of, or empty.
func clonedFrom(ctx context.Context, live client.Reader, machine *clusterv1.Machine) (string, error) {
	if !association.NamesElementalMachine(machine.Spec.InfrastructureRef) {
		return "", nil
	}
	own := &infrav1.ElementalMachine{}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}
	if err := live.Get(ctx, key, own); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return own.Annotations[clusterv1.TemplateClonedFromNameAnnotation], nil
}
