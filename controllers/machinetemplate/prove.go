// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// Values of Cluster API's provider label on the Deployments whose feature gates matter.
const (
	coreProvider         = "cluster-api"
	controlPlaneProvider = "control-plane-kubeadm"
)

// problem is one reason why Machines would be replaced, with what to change.
type problem struct{ reason, message string }

// prove looks for anything that would make Cluster API replace Machines instead of updating them in
// place. All that is found is returned, so that it can be put right in one go.
func (r *Reconciler) prove(ctx context.Context, seen *observation) ([]problem, error) {
	extension, problems, err := r.proveExtension(ctx, seen.template.Namespace)
	if err != nil {
		return nil, err
	}
	providers := []string{coreProvider}
	if slices.ContainsFunc(seen.at(pending), isControlPlane) {
		providers = append(providers, controlPlaneProvider)
	}
	for _, provider := range providers {
		found, err := r.proveGates(ctx, provider, extension)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	for _, candidate := range seen.at(pending) {
		message, err := r.Owners.ReplacesInstead(ctx, candidate.Owner)
		if err != nil {
			return nil, err
		}
		if message != "" {
			problems = append(problems, problem{reason: unsupportedReason(candidate), message: message})
		}
	}
	return problems, nil
}

func isControlPlane(candidate placed) bool { return candidate.Kind() == owner.KubeadmControlPlaneKind }

func unsupportedReason(candidate placed) string {
	if isControlPlane(candidate) {
		return infrav1.UnsupportedControlPlaneReason
	}
	return infrav1.UnsupportedStrategyReason
}

// proveGates reads the feature gates of a provider's Deployments. What cannot be read counts as off,
// unless the ExtensionConfig asserts the gates.
func (r *Reconciler) proveGates(ctx context.Context, provider string, extension *runtimev1.ExtensionConfig) ([]problem, error) {
	deployments, err := r.providerDeployments(ctx, provider)
	if err != nil {
		return nil, err
	}
	if len(deployments) == 0 {
		if extension != nil && extension.Annotations[infrav1.FeatureGatesAnnotation] == infrav1.FeatureGatesEnabled {
			return nil, nil
		}
		return []problem{{infrav1.FeatureGatesUnknownReason, gatesUnknown(provider)}}, nil
	}
	problems := []problem{}
	for i := range deployments {
		if off := gatesOff(&deployments[i].Spec.Template.Spec); len(off) > 0 {
			problems = append(problems, problem{infrav1.FeatureGatesOffReason, gatesAreOff(&deployments[i], off)})
		}
	}
	return problems, nil
}

func gatesUnknown(provider string) string {
	return "The feature gates " + strings.Join(requiredGates, " and ") + " cannot be read, because no Deployment is labelled " +
		clusterv1.ProviderNameLabel + "=" + provider + ": label it, or annotate our ExtensionConfig with " +
		infrav1.FeatureGatesAnnotation + "=" + infrav1.FeatureGatesEnabled + " once they are on"
}
