// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=get

// RollsOut says, from a live read, that the owner of a Machine rolls out a change of its own, is about to, or will before a moment, for which it may
// replace the Machine; empty if it does not, or the Machine has no such owner.
func RollsOut(ctx context.Context, live client.Reader, machine *clusterv1.Machine, before time.Time) (string, error) {
	controller := metav1.GetControllerOf(machine)
	switch {
	case controller == nil:
		return replacesMachine(machine), nil
	case isOfMachineSet(machine):
		return poolRollsOut(ctx, live, machine, before)
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
	return ControlPlaneRollsOut(of, machine, before), nil
}

// poolRollsOut says it of a MachineDeployment. A MachineSet of its own rolls out nothing. The Machine's condition UpToDate does not tell: Cluster API 1.14
// sets it to False on all Machines without a version, once their kubelet reports one, as those of Rancher.
// Source: internal/controllers/machinedeployment/mdutil (MachineTemplateUpToDate), Cluster API 1.14.
func poolRollsOut(ctx context.Context, live client.Reader, machine *clusterv1.Machine, before time.Time) (string, error) {
	set, err := existing.Get(ctx, live, &clusterv1.MachineSet{}, machine.Namespace, metav1.GetControllerOf(machine).Name)
	if err != nil || set == nil {
		return "", err
	}
	controller := metav1.GetControllerOf(set)
	if controller == nil || controller.Kind != MachineDeploymentKind {
		return "", nil
	}
	md, err := existing.Get(ctx, live, &clusterv1.MachineDeployment{}, machine.Namespace, controller.Name)
	if err != nil || md == nil {
		return "", err
	}
	the := MachineDeploymentKind + " " + md.Name
	wanted, has := md.Spec.Template.Spec, set.Spec.Template.Spec
	switch after := md.Spec.Rollout.After; {
	case wanted.InfrastructureRef != has.InfrastructureRef:
		return fmt.Sprintf("the MachineDeployment of Machine %s refers to %s %s by now, and replaces it",
			machine.Name, wanted.InfrastructureRef.Kind, wanted.InfrastructureRef.Name), nil
	case wanted.Bootstrap.ConfigRef != has.Bootstrap.ConfigRef, wanted.Version != has.Version, wanted.FailureDomain != has.FailureDomain:
		return fmt.Sprintf("%s rolls out another change: MachineSet %s of Machine %s has another version, bootstrap configuration or failure domain",
			the, set.Name, machine.Name), nil
	case isDue(after.Time, set.CreationTimestamp.Time, before):
		return fmt.Sprintf("%s replaces its Machines after %s, by its spec.rollout.after", the, after.UTC().Format(time.RFC3339)), nil
	}
	return "", nil
}

// isDue reports whether what was created is to be replaced after a moment, and that is before another one.
func isDue(after, created, before time.Time) bool {
	return !after.IsZero() && created.Before(after) && after.Before(before)
}

// ControlPlaneRollsOut says the same of a control plane of any kind, by Cluster API's contract.
func ControlPlaneRollsOut(of *unstructured.Unstructured, machine *clusterv1.Machine, before time.Time) string {
	name := of.GetKind() + " " + of.GetName()
	if observed, known, _ := unstructured.NestedInt64(of.Object, "status", "observedGeneration"); known && observed != of.GetGeneration() {
		return name + " was changed and has not been acted on yet"
	}
	if why := replacesMachine(machine); why != "" {
		return why
	}
	for _, path := range [][]string{{"spec", "rollout", "after"}, {"spec", "rolloutAfter"}} { // of contract v1beta2, and of v1beta1
		set, _, _ := unstructured.NestedString(of.Object, path...)
		if after, err := time.Parse(time.RFC3339, set); err == nil && isDue(after, machine.CreationTimestamp.Time, before) {
			return fmt.Sprintf("%s replaces its Machines after %s, by its %s", name, set, strings.Join(path, "."))
		}
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
