// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/topology"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
)

// Path that the API server calls; config/webhook/preflight.yaml has the same.
const Path = "/preflight-elementalmachinetemplate"

// answerTimeout is less than the API server waits, so that this answer arrives.
const answerTimeout = 4 * time.Second

// Validator checks requests.
type Validator struct {
	// Client reads Machines, from the cache, which has the indexes of package clusterview.
	Client client.Reader
	// Outlook previews the rollout in the clusters.
	Outlook *outlook.Viewer
}

var _ admission.Validator[*infrav1.ElementalMachineTemplate] = &Validator{}

// SetupWithManager adds the webhook to the manager's webhook server.
func (v *Validator) SetupWithManager(mgr ctrl.Manager) error {
	mgr.GetWebhookServer().Register(Path, admission.WithValidator(mgr.GetScheme(), v))
	return nil
}

// ValidateCreate accepts everything: nothing refers to a new template yet.
func (v *Validator) ValidateCreate(context.Context, *infrav1.ElementalMachineTemplate) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete accepts everything: it is not called.
func (v *Validator) ValidateDelete(context.Context, *infrav1.ElementalMachineTemplate) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate rejects a change whose upgrade could not start now.
func (v *Validator) ValidateUpdate(ctx context.Context, before, after *infrav1.ElementalMachineTemplate) (admission.Warnings, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("reading the admission request: %w", err))
	}
	if !asks(before, after) || topology.IsDryRunRequest(request, after) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	dryRun := ptr.Deref(request.DryRun, false)
	views, err := v.look(ctx, after, dryRun)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = errors.New("it timed out")
		}
		return admission.Warnings{outlook.Cut("Admitted unchecked, and checked before each node: " + err.Error())}, nil
	}
	return answer(after, views, dryRun)
}

// asks reports whether a change requests an upgrade.
func asks(before, after *infrav1.ElementalMachineTemplate) bool {
	was, is := before.Spec.Template.Spec.OSVersionManagement, after.Spec.Template.Spec.OSVersionManagement
	return after.DeletionTimestamp.IsZero() && !osversion.Same(was, is)
}

// look previews the rollout in all clusters with Machines that it would reach. The handling of virtual machines is only reported on a dry
// run.
func (v *Validator) look(ctx context.Context, template *infrav1.ElementalMachineTemplate, foresee bool) ([]*outlook.Outlook, error) {
	reached, err := v.reach(ctx, template)
	if err != nil {
		return nil, err
	}
	views := []*outlook.Outlook{}
	for _, preview := range reached {
		seen, err := preview(ctx)
		if err != nil {
			return nil, err
		}
		if seen == nil {
			continue
		}
		views = append(views, seen)
	}
	if foresee {
		for _, seen := range views { // once all that blocks is known
			if err := v.Outlook.Foresee(ctx, seen, osversion.OfTemplate(template)); err != nil {
				seen.Incomplete(err)
			}
		}
	}
	return views, nil
}

// findings are what is said about a request, and what blocks it.
type findings struct {
	warnings admission.Warnings
	blockers []string
}

// add others, each line once.
func (f *findings) add(others findings) {
	f.warnings = union(f.warnings, others.warnings)
	f.blockers = union(f.blockers, others.blockers)
}

func union(said, more []string) []string {
	for _, line := range more {
		if !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return said
}

// findingsOf are the plan, on a dry run, and what blocks.
func findingsOf(views []*outlook.Outlook, dryRun bool) findings {
	all := findings{warnings: admission.Warnings{}}
	for _, seen := range views {
		if len(seen.Subjects) == 0 && !seen.Unreachable {
			continue
		}
		switch found := outlook.DescribeAll(seen.Blockers()); {
		case !seen.UnderWay:
			all.blockers = append(all.blockers, found...)
		case len(found) > 0:
			all.warnings = append(all.warnings, "A rollout is in progress, and continues with this change once nothing blocks it")
		}
		if dryRun || seen.Unreachable || seen.UnderWay {
			all.warnings = append(all.warnings, seen.Plan()...)
		} else {
			all.warnings = append(all.warnings, seen.Warnings()...)
		}
	}
	return all
}

// answer returns what is said about the change of a template.
func answer(template *infrav1.ElementalMachineTemplate, views []*outlook.Outlook, dryRun bool) (admission.Warnings, error) {
	found := findingsOf(views, dryRun)
	if len(found.blockers) == 0 {
		return found.warnings, nil
	}
	return found.warnings, apierrors.NewForbidden(schema.GroupResource{Group: infrav1.GroupVersion.Group, Resource: "elementalmachinetemplates"},
		template.Name, fmt.Errorf("the upgrade cannot start now:\n%s\nRetry when that is done, or waive checks by their names in spec.skipPreflight of the template",
			strings.Join(found.blockers, "\n")))
}
