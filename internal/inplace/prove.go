// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/featuregates"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// +kubebuilder:rbac:groups=runtime.cluster.x-k8s.io,resources=extensionconfigs,verbs=list
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// Prover reads what decides between an update in place and a replacement.
type Prover struct {
	// Live reads from the API server: what is read is not watched, and must not be stale.
	Live client.Reader
	// Owners knows how owners roll out.
	Owners *owner.Owners
}

// Problem is one reason why Machines would be replaced, with what to change.
type Problem struct {
	// Reason of the condition RolloutBlocked.
	Reason string
	// Message names the object and says what to change.
	Message string
}

// Prove returns all that would make Cluster API replace the Machines of owners in a namespace, so that it
// can be put right in one go. Nothing means that they are met.
func (p *Prover) Prove(ctx context.Context, namespace string, owners ...owner.Owner) ([]Problem, error) {
	return p.ProveReference(ctx, namespace, nil, owners...)
}

// ProveReference is Prove for owners whose reference is about to be changed to a template, with what would keep their Machines from taking its
// content in place. The template is nil where it does not exist yet, and gives no Machine anything. Once Cluster API is at work it
// finds that out itself, and Prove is enough.
func (p *Prover) ProveReference(ctx context.Context, namespace string, template *infrav1.ElementalMachineTemplate, owners ...owner.Owner) ([]Problem, error) {
	problems, err := p.proveManagers(ctx, namespace, owners...)
	if err != nil {
		return nil, err
	}
	for _, candidate := range owners {
		found, err := p.proveOwner(ctx, candidate, template)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

// proveManagers returns what of that would not be the fault of a single owner: of Cluster API's managers, as far as owners
// need them, and of the extensions.
func (p *Prover) proveManagers(ctx context.Context, namespace string, owners ...owner.Owner) ([]Problem, error) {
	extension, problems, err := p.proveExtension(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for _, provider := range providersOf(owners) {
		found, err := p.proveGates(ctx, provider, extension)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

// proveOwner returns what of that would be the fault of one owner, and what would keep its Machines from taking the content
// of a template in place. The template may be nil, see ProveReference.
func (p *Prover) proveOwner(ctx context.Context, of owner.Owner, template *infrav1.ElementalMachineTemplate) ([]Problem, error) {
	problems := []Problem{}
	message, err := p.Owners.ReplacesInstead(ctx, of)
	if err != nil {
		return nil, err
	}
	if message != "" {
		problems = append(problems, Problem{Reason: unsupportedReason(of), Message: message})
	}
	if template == nil {
		return problems, nil
	}
	wanted := template.DeepCopy()
	wanted.Spec.Template.Spec.OSVersionManagement = osversion.OfTemplate(template)
	if message, err = capiworkaround.RefusedUpdate(ctx, p.Owners, of, wanted); err != nil {
		return nil, err
	}
	if message != "" {
		problems = append(problems, Problem{Reason: unsupportedReason(of), Message: message})
	}
	return problems, nil
}

// Messages of problems, as one line.
func Messages(problems []Problem) string {
	all := make([]string, 0, len(problems))
	for _, found := range problems {
		all = append(all, found.Message)
	}
	return strings.Join(all, "; ")
}

// providersOf are the providers of Cluster API that update the Machines of owners.
func providersOf(owners []owner.Owner) []string {
	providers := []string{featuregates.Core}
	for _, candidate := range owners {
		if controlPlane, isOne := candidate.(owner.ControlPlane); isOne && !slices.Contains(providers, controlPlane.Provider()) {
			providers = append(providers, controlPlane.Provider())
		}
	}
	return providers
}

func unsupportedReason(candidate owner.Owner) string {
	if owner.IsControlPlane(candidate) {
		return infrav1.UnsupportedControlPlaneReason
	}
	return infrav1.UnsupportedStrategyReason
}

// proveGates reads the feature gates of a provider's Deployments. What cannot be read counts as off,
// unless the ExtensionConfig asserts the gates.
func (p *Prover) proveGates(ctx context.Context, provider string, extension *runtimev1.ExtensionConfig) ([]Problem, error) {
	deployments, err := featuregates.Deployments(ctx, p.Live, provider)
	if err != nil {
		return nil, err
	}
	if len(deployments) == 0 {
		if extension != nil && extension.Annotations[infrav1.FeatureGatesAnnotation] == infrav1.FeatureGatesEnabled {
			return nil, nil
		}
		return []Problem{{infrav1.FeatureGatesUnknownReason, gatesUnknown(provider)}}, nil
	}
	problems := []Problem{}
	for i := range deployments {
		if off := featuregates.Off(provider, &deployments[i].Spec.Template.Spec); len(off) > 0 {
			problems = append(problems, Problem{infrav1.FeatureGatesOffReason, gatesAreOff(&deployments[i], provider, off)})
		}
	}
	return problems, nil
}

func gatesUnknown(provider string) string {
	return "The feature gates " + strings.Join(featuregates.Required(provider), " and ") + " cannot be read, because no Deployment is labelled " +
		clusterv1.ProviderNameLabel + "=" + provider + ": label it, or annotate our ExtensionConfig with " +
		infrav1.FeatureGatesAnnotation + "=" + infrav1.FeatureGatesEnabled + " once they are on"
}

func gatesAreOff(deployment *appsv1.Deployment, provider string, off []string) string {
	variables := "EXP_RUNTIME_SDK=true and EXP_IN_PLACE_UPDATES=true"
	if provider == featuregates.RKE2ControlPlane {
		variables = "EXP_IN_PLACE_UPDATES=true, with CAPRKE2 0.25 or later,"
	}
	return fmt.Sprintf("Deployment %s/%s runs without the feature gates %s: set %s for clusterctl, or add them to its argument %s",
		deployment.Namespace, deployment.Name, strings.Join(off, " and "), variables, featuregates.Flag)
}
