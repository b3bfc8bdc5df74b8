// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade/gate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

// An update does not depend on the manager: the one that removes the finalizers of a deleted object must pass while no manager answers. What it would have
// rejected closes the upgrade when it is evaluated: see clusterupgrade.NewPlan and gate.Compile.
//
// +kubebuilder:webhook:verbs=create,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalclusterupgrade,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalclusterupgrades,versions=v1beta1,name=validation.elementalclusterupgrade.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalclusterupgrade,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalclusterupgrades,versions=v1beta1,name=update.elementalclusterupgrade.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// ClusterUpgrade is the webhook of ElementalClusterUpgrades.
type ClusterUpgrade struct {
	// Live reads from the API server: one that has just been created is not in the cache.
	Live client.Reader
}

var _ admission.Validator[*infrav1.ElementalClusterUpgrade] = &ClusterUpgrade{}

// ValidateCreate rejects an upgrade that cannot be carried out, and one of a Cluster that is being upgraded by another. One that has failed makes way.
func (w *ClusterUpgrade) ValidateCreate(ctx context.Context, upgrade *infrav1.ElementalClusterUpgrade) (admission.Warnings, error) {
	if errs := validateClusterUpgrade(upgrade); len(errs) > 0 {
		return nil, invalid("ElementalClusterUpgrade", upgrade, errs)
	}
	if upgrade.PhaseNow().IsEnd() || clusterupgrade.IsMoved(upgrade) { // of two that clusterctl brings, which has failed is not known yet
		return nil, nil
	}
	active, err := clusterupgrade.Of(ctx, w.Live, client.ObjectKey{Namespace: upgrade.Namespace, Name: upgrade.Spec.ClusterName})
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	for i := range active {
		if other := &active[i]; other.Name != upgrade.Name && other.PhaseNow() != infrav1.ClusterUpgradeFailed {
			return nil, apierrors.NewForbidden(schema.GroupResource{Group: infrav1.GroupVersion.Group, Resource: "elementalclusterupgrades"}, upgrade.Name,
				fmt.Errorf("spec.clusterName: ElementalClusterUpgrade %s of Cluster %s has not ended: wait for it, or set its spec.cancel", other.Name, upgrade.Spec.ClusterName))
		}
	}
	return nil, nil
}

// ValidateUpdate rejects windows that never open, and gates that never do, where they are changed: what was stored before it was rejected does not stand
// against anything else. What must not change is said by the CRD.
func (*ClusterUpgrade) ValidateUpdate(_ context.Context, before, after *infrav1.ElementalClusterUpgrade) (admission.Warnings, error) {
	errs := field.ErrorList{}
	if !equality.Semantic.DeepEqual(before.Spec.Windows, after.Spec.Windows) {
		errs = append(errs, validateWindows(after.Spec.Windows)...)
	}
	if !equality.Semantic.DeepEqual(before.Spec.Gates, after.Spec.Gates) {
		errs = append(errs, validateGates(after.Spec.Gates, before.Spec.Gates)...)
	}
	return lateCancel(before, after), invalid("ElementalClusterUpgrade", after, errs)
}

// lateCancel warns of a cancellation that changes nothing.
func lateCancel(before, after *infrav1.ElementalClusterUpgrade) admission.Warnings {
	isAsked := after.Spec.Cancel && (!before.Spec.Cancel || before.Spec.OnCancel != after.Spec.OnCancel)
	if ended := before.PhaseNow(); isAsked && ended.IsEnd() {
		return admission.Warnings{fmt.Sprintf("The upgrade has ended as %s, and cancelling it changes nothing: patch the templates to go back", ended)}
	}
	return nil
}

// ValidateDelete accepts everything.
func (*ClusterUpgrade) ValidateDelete(context.Context, *infrav1.ElementalClusterUpgrade) (admission.Warnings, error) {
	return nil, nil
}

// validateClusterUpgrade checks what the CRD's schema does not.
func validateClusterUpgrade(upgrade *infrav1.ElementalClusterUpgrade) field.ErrorList {
	errs, spec := validateWindows(upgrade.Spec.Windows), field.NewPath("spec")
	if image := upgrade.Spec.OSVersion.ImageURI; image != "" {
		if _, err := imageuri.Parse(image); err != nil {
			errs = append(errs, field.Invalid(spec.Child("osVersion", "imageURI"), image, err.Error()))
		}
	}
	known := sets.New[string]()
	for i, stage := range upgrade.Spec.Order {
		name := clusterupgrade.StageName(stage)
		if known.Has(name) {
			errs = append(errs, field.Invalid(spec.Child("order").Index(i), name,
				"is there twice: remove it, or give it other nodes, which are a total with those of the stages before"))
		}
		known.Insert(name)
		if pool := clusterupgrade.LeftOut(upgrade.Spec.Order, i); pool != "" {
			errs = append(errs, field.Invalid(spec.Child("order").Index(i), name, fmt.Sprintf(
				"is for some nodes of pool %s, and the others would be upgraded in no order once the upgrade has ended: add a stage for all of them, such as {pools: [%q]}", pool, pool)))
		}
	}
	return append(errs, validateGates(upgrade.Spec.Gates, nil)...)
}

// validateGates checks expressions and selectors of gates that are not as before. What an expression costs is not known before it is evaluated.
func validateGates(gates, before []infrav1.UpgradeGate) field.ErrorList {
	errs := field.ErrorList{}
	for i, asked := range gates {
		isKept := slices.ContainsFunc(before, func(g infrav1.UpgradeGate) bool { return equality.Semantic.DeepEqual(g, asked) })
		if asked.Object == nil || isKept {
			continue
		}
		at := field.NewPath("spec", "gates").Index(i)
		if _, err := gate.Compile(asked.Expression); err != nil {
			errs = append(errs, field.Invalid(at.Child("expression"), asked.Expression, err.Error()))
		}
		if version, err := schema.ParseGroupVersion(asked.Object.APIVersion); err != nil {
			errs = append(errs, field.Invalid(at.Child("object", "apiVersion"), asked.Object.APIVersion, err.Error()))
		} else if version.Group == corev1.GroupName && strings.EqualFold(asked.Object.Kind, "Secret") {
			errs = append(errs, field.Forbidden(at.Child("object", "kind"), "Secrets are not read"))
		}
		if _, err := metav1.LabelSelectorAsSelector(asked.Object.Selector); err != nil {
			errs = append(errs, field.Invalid(at.Child("object", "selector"), asked.Object.Selector, err.Error()))
		}
	}
	return errs
}

func validateWindows(windows []infrav1.UpgradeWindow) field.ErrorList {
	errs := field.ErrorList{}
	for i, asked := range windows {
		if _, err := clusterupgrade.ParseWindow(asked); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("spec", "windows").Index(i), asked.Schedule, err.Error()))
		}
	}
	return errs
}
