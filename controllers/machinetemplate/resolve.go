// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

const resolveAction = "Resolve"

// resolve looks up the ManagedOSVersion that a template names, once, and pins the template to its image. It
// reports whether the template's OS is known, and can be read: nothing is rolled out before, because no two hosts
// may get different images for one name.
func (r *Reconciler) resolve(ctx context.Context, template *infrav1.ElementalMachineTemplate) (bool, error) {
	wanted := template.Spec.Template.Spec.OSVersionManagement
	if _, err := osversion.Decode(wanted); err != nil {
		r.reportUnresolved(template, &managedos.Problem{
			Reason: infrav1.InvalidOSVersionReason, Message: fmt.Sprintf("spec.template.spec.%s: correct it", err),
		})
		return false, nil
	}
	name := osversion.Managed(wanted)
	if name == "" {
		conditions.Delete(template, infrav1.OSVersionResolvedCondition)
		return true, nil
	}
	if pinned := osversion.OfTemplate(template); osversion.Unresolved(pinned) == "" {
		reportResolved(template, pinned)
		return true, nil
	}
	found, problem, err := managedos.Resolver{Live: r.Live}.LookUp(ctx, template.Namespace, name)
	if err != nil {
		return false, err
	}
	if problem != nil {
		r.reportUnresolved(template, problem)
		return false, nil
	}
	if err := r.pin(ctx, template, found); err != nil {
		return false, err
	}
	reportResolved(template, osversion.OfTemplate(template))
	return true, nil
}

func (r *Reconciler) pin(ctx context.Context, template *infrav1.ElementalMachineTemplate, pin osversion.Pin) error {
	value, err := json.Marshal(pin)
	if err != nil {
		return fmt.Errorf("encoding what ManagedOSVersion %s was looked up to: %w", pin.Name, err)
	}
	stored := template.DeepCopy()
	if stored.Annotations == nil {
		stored.Annotations = map[string]string{}
	}
	stored.Annotations[infrav1.ResolvedOSVersionAnnotation] = string(value)
	// Two replicas, or a stale read, must not pin a template twice.
	patch := client.MergeFromWithOptions(template.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, stored, patch); err != nil {
		return fmt.Errorf("pinning ElementalMachineTemplate %s to ManagedOSVersion %s: %w", template.Name, pin.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Looked up a ManagedOSVersion", "managedOSVersion", pin.Name, "image", pin.Image)
	template.Annotations, template.ResourceVersion = stored.Annotations, stored.ResourceVersion
	return nil
}

func reportResolved(template *infrav1.ElementalMachineTemplate, resolved infrav1.OSVersionManagement) {
	condition.TrueBecause(template, infrav1.OSVersionResolvedCondition, clusterv1.ReadyReason,
		"ManagedOSVersion %s is %s", osversion.Managed(resolved), osversion.Image(resolved))
}

func (r *Reconciler) reportUnresolved(template *infrav1.ElementalMachineTemplate, problem *managedos.Problem) {
	if isNews(template, infrav1.OSVersionResolvedCondition, problem.Message) {
		r.Recorder.Eventf(template, nil, corev1.EventTypeWarning, infrav1.EventRolloutBlocked, resolveAction, "%s", shortened(problem.Message))
	}
	condition.False(template, infrav1.OSVersionResolvedCondition, problem.Reason, "%s", problem.Message)
	condition.False(template, infrav1.RolledOutCondition, infrav1.BlockedReason, "Nothing is rolled out before the OS is known")
}
