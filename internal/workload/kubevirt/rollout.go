// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// Unsupported says why a KubeVirt is not upgraded to a version, as in "v1.8.4"; empty if it may be. KubeVirt supports upgrades by one minor
// version at a time, and no downgrades.
func Unsupported(k *kubevirtv1.KubeVirt, wanted string) string {
	to, err := version.ParseSemantic(wanted)
	if err != nil {
		return fmt.Sprintf("%q is not a version of KubeVirt: write it as in \"v1.8.4\"", wanted)
	}
	from, err := version.ParseSemantic(k.Status.ObservedKubeVirtVersion)
	switch {
	case err != nil:
		return fmt.Sprintf("%s does not report which version runs (status.observedKubeVirtVersion is %q): wait until virt-operator has deployed it",
			nameOf(k), k.Status.ObservedKubeVirtVersion)
	case to.LessThan(from):
		return fmt.Sprintf("%s runs %s, and is not downgraded to %s: create another ElementalClusterUpgrade", nameOf(k), k.Status.ObservedKubeVirtVersion, wanted)
	case to.Major() != from.Major() || to.Minor() > from.Minor()+1:
		return fmt.Sprintf("%s runs %s, from which KubeVirt does not support an upgrade to %s: upgrade it by one minor version at a time",
			nameOf(k), k.Status.ObservedKubeVirtVersion, wanted)
	}
	return ""
}

// OperatorBehind says that virt-operator is older than a version, which it has to be upgraded to first: it may lack rights, and the manifests, that the
// version needs. Empty if it is not.
func OperatorBehind(k *kubevirtv1.KubeVirt, wanted string) string {
	to, err := version.ParseSemantic(wanted)
	if err != nil {
		return fmt.Sprintf("%q is not a version of KubeVirt: write it as in \"v1.8.4\"", wanted)
	}
	operator, err := version.ParseSemantic(k.Status.OperatorVersion)
	if err == nil && operator.AtLeast(to) {
		return ""
	}
	return fmt.Sprintf("virt-operator of %s is %s: apply the manifests of virt-operator %s", nameOf(k), cmp.Or(k.Status.OperatorVersion, "of no known version"), wanted)
}

// NotRolledOut says what of KubeVirt, or of the DaemonSet virt-handler, is not at a version yet; empty if all is. The phase is not looked at: it is
// Deployed during a roll-out, too, and after one that failed.
// Source of the fields: KubeVirt 1.7 and 1.8, virt-operator.
func NotRolledOut(k *kubevirtv1.KubeVirt, handler *appsv1.DaemonSet, wanted string) string {
	status := &k.Status
	switch {
	case status.TargetKubeVirtVersion != wanted:
		return fmt.Sprintf("%s is to have %s instead of %s: virt-operator has to run, and to act on that", nameOf(k), cmp.Or(status.TargetKubeVirtVersion, "no version"), wanted)
	case status.ObservedKubeVirtVersion != wanted || status.ObservedDeploymentID != status.TargetDeploymentID:
		return joined(fmt.Sprintf("%s is being updated from %s to %s", nameOf(k), cmp.Or(status.ObservedKubeVirtVersion, "no version"), wanted)+said(k), handlerBehind(handler))
	}
	if why := said(k); why != "" {
		return joined(nameOf(k)+" is not well"+why, handlerBehind(handler))
	}
	if why := handlerBehind(handler); why != "" {
		return why
	}
	if status.ObservedGeneration == nil || *status.ObservedGeneration != k.Generation { // written when all is ready, and not before
		return nameOf(k) + " was changed, and virt-operator has not acted on that yet: it has to run"
	}
	return ""
}

// joined sentences, of which the second may be empty.
func joined(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}

func nameOf(k *kubevirtv1.KubeVirt) string { return "KubeVirt " + k.Namespace + "/" + k.Name }

// said is the first condition of KubeVirt that is not as it is after a roll-out, as the rest of a sentence; empty if all are.
func said(k *kubevirtv1.KubeVirt) string {
	for _, wanted := range []kubevirtv1.KubeVirtCondition{
		{Type: kubevirtv1.KubeVirtConditionDegraded, Status: corev1.ConditionFalse},
		{Type: kubevirtv1.KubeVirtConditionAvailable, Status: corev1.ConditionTrue},
		{Type: kubevirtv1.KubeVirtConditionProgressing, Status: corev1.ConditionFalse},
	} {
		found := findCondition(k, wanted.Type)
		if found == nil {
			return fmt.Sprintf(": condition %s is missing", wanted.Type)
		}
		if found.Status != wanted.Status {
			return fmt.Sprintf(": condition %s is %s (%s): %s", found.Type, found.Status, found.Reason, found.Message)
		}
	}
	return ""
}

// findCondition is a condition of KubeVirt; nil if it does not have it.
func findCondition(k *kubevirtv1.KubeVirt, of kubevirtv1.KubeVirtConditionType) *kubevirtv1.KubeVirtCondition {
	for i := range k.Status.Conditions {
		if k.Status.Conditions[i].Type == of {
			return &k.Status.Conditions[i]
		}
	}
	return nil
}

// handlerBehind says how far the DaemonSet virt-handler is; empty if all its Pods are updated and Ready. virt-operator may report a roll-out as done
// before.
func handlerBehind(handler *appsv1.DaemonSet) string {
	if handler == nil {
		return "DaemonSet virt-handler does not exist"
	}
	status, name := handler.Status, "DaemonSet "+handler.Namespace+"/"+handler.Name
	if status.ObservedGeneration != handler.Generation {
		return name + " was changed, and is not rolled out yet"
	}
	if status.UpdatedNumberScheduled != status.DesiredNumberScheduled || status.NumberReady != status.DesiredNumberScheduled {
		return fmt.Sprintf("%s: of %d Pods %d are updated and %d Ready; a node that is down, or whose Pod is not Ready, holds all others: bring it back", name,
			status.DesiredNumberScheduled, status.UpdatedNumberScheduled, status.NumberReady)
	}
	return ""
}
