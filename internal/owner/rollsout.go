// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment/mdutil"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RollsOut says, from a live read, that the owner of a Machine rolls out a change of its own, is about to, or will until a moment, for which it may
// replace the Machine; empty if it does not, or the Machine has no such owner.
func RollsOut(ctx context.Context, live client.Reader, machine *clusterv1.Machine, until time.Time) (string, error) {
	of, err := ControllersOf(ctx, live, machine)
	if err != nil {
		return "", err
	}
	return of.RollsOut(machine, until), nil
}

// RollsOut says the same by what controls a Machine. A MachineSet of its own rolls out nothing.
func (c Controllers) RollsOut(machine *clusterv1.Machine, until time.Time) string {
	switch {
	case c.Deployment != nil:
		return poolRollsOut(c.MachineSet, c.Deployment, until)
	case IsOfMachineSet(machine):
		return ""
	case c.ControlPlane == nil:
		return replacesMachine(machine)
	}
	of := c.ControlPlane
	if observed, known, _ := unstructured.NestedInt64(of.Object, "status", "observedGeneration"); known && observed != of.GetGeneration() {
		return of.GetKind() + " " + of.GetName() + " was changed and has not been acted on yet"
	}
	return ControlPlaneRollsOut(of, machine, until)
}

// poolRollsOut says the same of a MachineDeployment and the MachineSet of a Machine. The Machine's condition UpToDate does not tell: Cluster API 1.14
// sets it to False on all Machines without a version, once their kubelet reports one, as those of Rancher.
func poolRollsOut(set *clusterv1.MachineSet, md *clusterv1.MachineDeployment, until time.Time) string {
	name, after := MachineDeploymentKind+" "+md.Name, md.Spec.Rollout.After
	if replacesOnDelete(md) {
		return ""
	}
	if isUpToDate, why := mdutil.MachineTemplateUpToDate(&set.Spec.Template, &md.Spec.Template); !isUpToDate {
		return fmt.Sprintf("%s rolls out another change: MachineSet %s has %s", name, set.Name, strings.Join(why.LogMessages, ", "))
	}
	if isDue(after.Time, set.CreationTimestamp.Time, until) {
		return fmt.Sprintf("%s replaces its Machines after %s, by its spec.rollout.after", name, after.UTC().Format(time.RFC3339))
	}
	return ""
}

// replacesOnDelete reports whether Cluster API replaces only Machines that a user deletes.
func replacesOnDelete(md *clusterv1.MachineDeployment) bool {
	return md.Spec.Rollout.Strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType
}

// StartsRollout reports whether a change of a MachineDeployment has Cluster API replace its Machines, or update them in place, until a moment. It propagates the
// others. A MachineDeployment that has replaced only what users deleted may have a change to roll out.
func StartsRollout(before, after *clusterv1.MachineDeployment, until time.Time) bool {
	if replacesOnDelete(before) || replacesOnDelete(after) {
		return !replacesOnDelete(after)
	}
	isSame, _ := mdutil.MachineTemplateUpToDate(&before.Spec.Template, &after.Spec.Template)
	moment := after.Spec.Rollout.After
	isDue := !moment.IsZero() && moment.Time.Before(until) && !before.Spec.Rollout.After.Equal(&moment)
	return !isSame || isDue
}

// ChangesOnlySchedule reports whether a change of a control plane, by contract v1beta2 or v1beta1, is one of when and how it rolls out, and no more.
func ChangesOnlySchedule(before, after *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(withoutSchedule(before), withoutSchedule(after))
}

// withoutSchedule is the spec of a control plane without when and how it rolls out.
func withoutSchedule(of *unstructured.Unstructured) map[string]any {
	spec, _, _ := unstructured.NestedMap(of.Object, "spec")
	for _, field := range []string{"rollout", "rolloutAfter", "rolloutBefore", "rolloutStrategy"} {
		delete(spec, field)
	}
	return spec
}

// isDue reports whether a moment lies between a creation and until.
func isDue(moment, created, until time.Time) bool {
	return !moment.IsZero() && created.Before(moment) && moment.Before(until)
}

// ControlPlaneRollsOut says the same of a control plane of any kind, by Cluster API's contract. A change that it has not acted on yet is not known to roll
// out anything.
func ControlPlaneRollsOut(of *unstructured.Unstructured, machine *clusterv1.Machine, until time.Time) string {
	name := of.GetKind() + " " + of.GetName()
	if why := replacesMachine(machine); why != "" {
		return why
	}
	if why := replacesByTime(of, machine, until); why != "" {
		return name + " " + why
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

// replacesByTime says which field has a control plane replace a Machine until a moment, by contract v1beta2 or v1beta1; empty if none does.
func replacesByTime(of *unstructured.Unstructured, machine *clusterv1.Machine, until time.Time) string {
	for _, path := range [][]string{{"spec", "rollout", "after"}, {"spec", "rolloutAfter"}} {
		set, _, _ := unstructured.NestedString(of.Object, path...)
		if after, err := time.Parse(time.RFC3339, set); err == nil && isDue(after, machine.CreationTimestamp.Time, until) {
			return fmt.Sprintf("replaces its Machines after %s, by its %s", set, strings.Join(path, "."))
		}
	}
	expiry := machine.Status.CertificatesExpiryDate
	for _, path := range [][]string{{"spec", "rollout", "before", "certificatesExpiryDays"}, {"spec", "rolloutBefore", "certificatesExpiryDays"}} {
		days, isSet, _ := unstructured.NestedInt64(of.Object, path...)
		if isSet && !expiry.IsZero() && expiry.AddDate(0, 0, -int(days)).Before(until) {
			return fmt.Sprintf("replaces Machine %s, whose certificates expire at %s, by its %s", machine.Name, expiry.UTC().Format(time.RFC3339), strings.Join(path, "."))
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
