// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
)

// UpgradePath that the API server calls for new ElementalClusterUpgrades; config/webhook/preflight.yaml has the same.
const UpgradePath = "/preflight-elementalclusterupgrade"

// UpgradeValidator checks new ElementalClusterUpgrades as Validator checks the changes of templates that they would make.
type UpgradeValidator struct {
	// Templates are checked by it.
	Templates *Validator
}

var _ admission.Validator[*infrav1.ElementalClusterUpgrade] = &UpgradeValidator{}

// SetupWithManager adds the webhook to the manager's webhook server.
func (v *UpgradeValidator) SetupWithManager(mgr ctrl.Manager) error {
	mgr.GetWebhookServer().Register(UpgradePath, admission.WithValidator(mgr.GetScheme(), v))
	return nil
}

// ValidateCreate rejects an upgrade that could not start now, or whose order names what the Cluster does not have.
func (v *UpgradeValidator) ValidateCreate(ctx context.Context, upgrade *infrav1.ElementalClusterUpgrade) (admission.Warnings, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("reading the admission request: %w", err))
	}
	if clusterupgrade.Image(upgrade) == "" || upgrade.PhaseNow().IsEnd() || clusterupgrade.IsMoved(upgrade) {
		return nil, nil // a ManagedOSVersion is looked up when the upgrade begins; clusterctl brings an upgrade before the Machines
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	found, err := v.look(ctx, upgrade, ptr.Deref(request.DryRun, false))
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = errors.New("it timed out")
		}
		return admission.Warnings{outlook.Cut("Admitted unchecked, and checked before each node: " + err.Error())}, nil
	}
	if len(found.blockers) == 0 {
		return found.warnings, nil
	}
	return found.warnings, apierrors.NewForbidden(schema.GroupResource{Group: infrav1.GroupVersion.Group, Resource: "elementalclusterupgrades"}, upgrade.Name,
		fmt.Errorf("the upgrade cannot start now:\n%s\nRetry when that is done. Checks, which are in brackets, can be waived by spec.skipPreflight of the templates",
			strings.Join(found.blockers, "\n")))
}

// ValidateUpdate accepts everything: it is not called.
func (*UpgradeValidator) ValidateUpdate(context.Context, *infrav1.ElementalClusterUpgrade, *infrav1.ElementalClusterUpgrade) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete accepts everything: it is not called.
func (*UpgradeValidator) ValidateDelete(context.Context, *infrav1.ElementalClusterUpgrade) (admission.Warnings, error) {
	return nil, nil
}

// look previews the change of each template of the plan.
func (v *UpgradeValidator) look(ctx context.Context, upgrade *infrav1.ElementalClusterUpgrade, dryRun bool) (findings, error) {
	plan, err := clusterupgrade.Read(ctx, v.Templates.Client, upgrade, nil)
	if err != nil {
		return findings{}, err
	}
	all, seen := findings{}, sets.New[string]()
	for _, name := range plan.Unknown() {
		all.blockers = append(all.blockers, fmt.Sprintf("spec.order names pool %s, and Cluster %s has Machines in the pools %s: correct spec.order",
			name, upgrade.Spec.ClusterName, strings.Join(plan.PoolNames(), ", ")))
	}
	if against := plan.AgainstRancher(); against != "" {
		all.blockers = append(all.blockers, against)
	}
	for _, member := range plan.Members() {
		if member.Template == nil || seen.Has(member.Template.Name) {
			continue
		}
		seen.Insert(member.Template.Name)
		changed := member.Template.DeepCopy()
		changed.Spec.Template.Spec.OSVersionManagement = clusterupgrade.Desired(upgrade, changed.Spec.Template.Spec.OSVersionManagement)
		if !asks(member.Template, changed) {
			continue
		}
		views, err := v.Templates.look(ctx, changed, dryRun)
		if err != nil {
			return findings{}, err
		}
		all.add(findingsOf(views, dryRun))
	}
	return all, nil
}
