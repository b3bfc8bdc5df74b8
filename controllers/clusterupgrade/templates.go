// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// recording is the message while the former OS of a template is being stored.
const recording = "recording the OS that a template has"

// former is what a template, or a pool of a topology, had before an upgrade changed it.
type former struct {
	// OS is its osVersionManagement.
	OS infrav1.OSVersionManagement `json:"osVersionManagement,omitempty,omitzero"`
	// Variable is what its pool had in the topology; empty if it was not overridden there.
	Variable string `json:"variable,omitempty"`
	// IsChanged says that it was seen with the OS of the upgrade: without it, somebody has changed it since.
	IsChanged bool `json:"isChanged,omitempty"`
}

// templates of all stages, by name.
func (o *observation) templates() []*infrav1.ElementalMachineTemplate {
	found := []*infrav1.ElementalMachineTemplate{}
	for _, stage := range o.plan.Stages {
		found = append(found, templatesOf(stage)...)
	}
	return unique(found)
}

func templatesOf(stage clusterupgrade.Stage) []*infrav1.ElementalMachineTemplate {
	found := []*infrav1.ElementalMachineTemplate{}
	for _, pool := range stage.Pools {
		found = append(found, pool.Templates...)
	}
	return unique(found)
}

func unique(templates []*infrav1.ElementalMachineTemplate) []*infrav1.ElementalMachineTemplate {
	slices.SortFunc(templates, func(a, b *infrav1.ElementalMachineTemplate) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(templates, func(a, b *infrav1.ElementalMachineTemplate) bool { return a.Name == b.Name })
}

// waitFor is when to look again at a template.
func waitFor(why string) time.Duration {
	if why == recording {
		return soon
	}
	return retry
}

// tryTemplate says why the template cannot be changed now; empty if it can, or has the OS. It is the admission of the change that knows.
func (r *Reconciler) tryTemplate(ctx context.Context, o *observation, template *infrav1.ElementalMachineTemplate) (string, error) {
	desired, has := o.desired(template)
	if has || clusterupgrade.IsOfTopology(template) {
		return "", nil
	}
	return r.patchTemplate(ctx, template, desired, client.DryRunAll)
}

// changeTemplate gives a template the OS, and says why it does not. What somebody has changed back is reported, and not changed again.
func (r *Reconciler) changeTemplate(ctx context.Context, o *observation, stale *infrav1.ElementalMachineTemplate) (string, error) {
	template, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachineTemplate{}, stale.Namespace, stale.Name)
	if err != nil || template == nil {
		return "ElementalMachineTemplate " + stale.Name + " is gone", err
	}
	desired, has := o.desired(template)
	known, err := formerOf(o.upgrade)
	if err != nil {
		return "", err
	}
	recorded, isRecorded := known[template.Name]
	switch {
	case has:
		return "", noteChanged(o.upgrade, known, formerKey(template))
	case clusterupgrade.IsOfTopology(template):
		return r.changeVariable(ctx, o, template, known)
	case !isRecorded:
		known[template.Name] = former{OS: template.Spec.Template.Spec.OSVersionManagement}
		return recording, recordFormer(o.upgrade, known)
	case recorded.IsChanged:
		return fmt.Sprintf("another party has changed osVersionManagement of ElementalMachineTemplate %s, and it is not changed again: set its image to %s, "+
			"or set spec.cancel of the ElementalClusterUpgrade", template.Name, clusterupgrade.Image(o.upgrade)), nil
	}
	if why, err := r.giveOS(ctx, o, template, desired); err != nil || why != "" {
		return why, err
	}
	return "", noteChanged(o.upgrade, known, template.Name)
}

// giveOS to a template. Since Preflight it may have become that of another Cluster, too.
func (r *Reconciler) giveOS(ctx context.Context, o *observation, template *infrav1.ElementalMachineTemplate, desired infrav1.OSVersionManagement) (string, error) {
	if why, err := r.sharedWithOthers(ctx, o, []*infrav1.ElementalMachineTemplate{template}); err != nil || why != "" {
		return why, err
	}
	if why, err := r.patchTemplate(ctx, template, desired); err != nil || why != "" {
		return why, err
	}
	r.Recorder.Eventf(o.upgrade, template, corev1.EventTypeNormal, infrav1.EventTemplateChanged, "ChangeTemplate",
		"ElementalMachineTemplate %s was changed to image %s", template.Name, clusterupgrade.Image(o.upgrade))
	return "", nil
}

// noteChanged records that a template, or a pool of a topology, which the upgrade is to change has its OS.
func noteChanged(upgrade *infrav1.ElementalClusterUpgrade, known map[string]former, key string) error {
	recorded, isRecorded := known[key]
	if !isRecorded || recorded.IsChanged {
		return nil
	}
	recorded.IsChanged = true
	known[key] = recorded
	return recordFormer(upgrade, known)
}

// desired is the OS that a template is to have, and whether it has it.
func (o *observation) desired(template *infrav1.ElementalMachineTemplate) (desired infrav1.OSVersionManagement, has bool) {
	desired = clusterupgrade.Desired(o.upgrade, template.Spec.Template.Spec.OSVersionManagement)
	return desired, osversion.Same(osversion.OfTemplate(template), desired)
}

// patchTemplate says what its admission refuses.
func (r *Reconciler) patchTemplate(
	ctx context.Context, template *infrav1.ElementalMachineTemplate, management infrav1.OSVersionManagement, options ...client.PatchOption,
) (refused string, err error) {
	changed := template.DeepCopy()
	changed.Spec.Template.Spec.OSVersionManagement = management
	patch := client.MergeFromWithOptions(template.DeepCopy(), client.MergeFromWithOptimisticLock{})
	err = r.Client.Patch(ctx, changed, patch, options...)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		return err.Error(), nil
	case apierrors.IsConflict(err):
		return "ElementalMachineTemplate " + template.Name + " is being changed by others", nil
	case err != nil:
		return "", fmt.Errorf("changing ElementalMachineTemplate %s: %w", template.Name, err)
	}
	return "", nil
}

// formerOf is what an upgrade has begun to change, by formerKey.
func formerOf(upgrade *infrav1.ElementalClusterUpgrade) (map[string]former, error) {
	known := map[string]former{}
	value := upgrade.Annotations[infrav1.FormerOSAnnotation]
	if value == "" {
		return known, nil
	}
	if err := json.Unmarshal([]byte(value), &known); err != nil {
		return nil, fmt.Errorf("decoding annotation %s: %w", infrav1.FormerOSAnnotation, err)
	}
	return maps.Clone(known), nil
}

func recordFormer(upgrade *infrav1.ElementalClusterUpgrade, known map[string]former) error {
	value, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("encoding annotation %s: %w", infrav1.FormerOSAnnotation, err)
	}
	annotations.AddAnnotations(upgrade, map[string]string{infrav1.FormerOSAnnotation: string(value)})
	return nil
}
