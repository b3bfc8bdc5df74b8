// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// Registration of hosts must not depend on a webhook, and hosts have to be writable while the manager is
// down: only updates are validated, and failures are ignored. Rules that must always hold are in the CRD.
// +kubebuilder:webhook:verbs=update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalhost,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,versions=v1beta1,name=validation.elementalhost.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// Host is the webhook of ElementalHosts: only the upgrade controller may set the trigger label while one of its attempts is
// active, and only the manager may pass on an image that no host could fetch.
type Host struct {
	// Self returns the manager's user name.
	Self func(ctx context.Context) (string, error)
}

var _ admission.Validator[*infrav1.ElementalHost] = &Host{}

// ValidateCreate accepts everything.
func (*Host) ValidateCreate(context.Context, *infrav1.ElementalHost) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate rejects a trigger that a user sets during an attempt, which would reboot the host before its node is drained, and
// a changed OS that cannot be read or whose image no host could fetch. The manager itself is exempt: it passes on what the
// ElementalMachine holds, where it was validated.
func (w *Host) ValidateUpdate(ctx context.Context, before, after *infrav1.ElementalHost) (admission.Warnings, error) {
	warnings := warnOfMachine(before, after)
	errs := append(validateTrigger(before, after), validateHostOS(before, after)...)
	if len(errs) == 0 && len(warnings) == 0 {
		return nil, nil
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("reading the admission request: %w", err))
	}
	self, err := w.Self(ctx)
	if err != nil {
		return append(warnings, "the change could not be checked: "+err.Error()), nil
	}
	if request.UserInfo.Username == self {
		return nil, nil
	}
	return warnings, invalid("ElementalHost", after, errs)
}

func validateTrigger(before, after *infrav1.ElementalHost) field.ErrorList {
	label := newTrigger(before, after)
	if label == "" || !hoststate.ManagedAttemptActive(before) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "labels").Key(label),
		fmt.Sprintf("attempt %s is active and triggers the host itself, after its node is drained: wait for it, or set spec.cancel of its ElementalHostUpgrade",
			before.Spec.Upgrade.Attempt))}
}

// validateHostOS accepts what is stored already: another change of the host must not depend on it.
func validateHostOS(before, after *infrav1.ElementalHost) field.ErrorList {
	was, wanted := before.Spec.OSVersionManagement, after.Spec.OSVersionManagement
	if equality.Semantic.DeepEqual(was, wanted) {
		return nil
	}
	path := field.NewPath("spec")
	return append(validateOS(wanted, path), validateImage(was, wanted, path)...)
}

// warnOfMachine warns of a change of the OS that the machine controller takes back.
func warnOfMachine(before, after *infrav1.ElementalHost) admission.Warnings {
	machine := after.Spec.MachineRef
	if machine == nil || equality.Semantic.DeepEqual(before.Spec.OSVersionManagement, after.Spec.OSVersionManagement) {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("spec.osVersionManagement is replaced by that of ElementalMachine %s, which the host serves: change it there", machine.Name)}
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
