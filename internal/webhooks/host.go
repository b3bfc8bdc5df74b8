// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// Registration of hosts must not depend on a webhook, and hosts have to be writable while the manager is
// down: only updates are validated, and failures are ignored. Rules that must always hold are in the CRD.
// +kubebuilder:webhook:verbs=update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalhost,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,versions=v1beta1,name=validation.elementalhost.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// Host is the webhook of ElementalHosts: only the upgrade controller may set the trigger label while one of
// its attempts is active.
type Host struct {
	// Self returns the manager's user name.
	Self func(ctx context.Context) (string, error)
}

var _ admission.Validator[*infrav1.ElementalHost] = &Host{}

// ValidateCreate accepts everything.
func (*Host) ValidateCreate(context.Context, *infrav1.ElementalHost) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate rejects a trigger that a user sets during an attempt: it would reboot the host before its
// node is drained.
func (w *Host) ValidateUpdate(ctx context.Context, before, after *infrav1.ElementalHost) (admission.Warnings, error) {
	label := newTrigger(before, after)
	if label == "" || !hoststate.ManagedAttemptActive(before) {
		return nil, nil
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("reading the admission request: %w", err))
	}
	self, err := w.Self(ctx)
	if err != nil {
		return admission.Warnings{"the trigger could not be checked: " + err.Error()}, nil
	}
	if request.UserInfo.Username == self {
		return nil, nil
	}
	return nil, invalid("ElementalHost", after, field.ErrorList{field.Forbidden(
		field.NewPath("metadata", "labels").Key(label),
		fmt.Sprintf("attempt %s is active and triggers the host itself, after its node is drained: wait for it, or set spec.cancel of its ElementalHostUpgrade",
			before.Spec.Upgrade.Attempt))})
}

// ValidateDelete accepts everything.
func (*Host) ValidateDelete(context.Context, *infrav1.ElementalHost) (admission.Warnings, error) {
	return nil, nil
}

// newTrigger is the label, in either spelling, that an update sets to "pending".
func newTrigger(before, after *infrav1.ElementalHost) string {
	for _, label := range []string{infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpdateLabel} {
		if after.Labels[label] == infrav1.InPlaceUpgradePending && before.Labels[label] != infrav1.InPlaceUpgradePending {
			return label
		}
	}
	return ""
}
