// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	gatesFlag = "--feature-gates"
	// allAlpha turns on every gate that is alpha, as both of ours are.
	// Source: k8s.io/component-base/featuregate; stages as of Cluster API 1.14.
	allAlpha = "AllAlpha"
)

// requiredGates are the gates, off by default, that a provider of Cluster API needs for in-place updates. Only the core
// provider accepts and discovers extensions: the components of KubeadmControlPlane name no RuntimeSDK.
// Source: core/config/manager and controlplane/kubeadm/config/manager of Cluster API 1.14.
func requiredGates(provider string) []string {
	if provider == controlPlaneProvider {
		return []string{"InPlaceUpdates"}
	}
	return []string{"RuntimeSDK", "InPlaceUpdates"}
}

func (p *Prover) providerDeployments(ctx context.Context, provider string) ([]appsv1.Deployment, error) {
	list := &appsv1.DeploymentList{}
	if err := p.Live.List(ctx, list, client.MatchingLabels{clusterv1.ProviderNameLabel: provider}); err != nil {
		return nil, fmt.Errorf("listing the Deployments of %s: %w", provider, err)
	}
	return list.Items, nil
}

func gatesAreOff(deployment *appsv1.Deployment, off []string) string {
	return fmt.Sprintf("Deployment %s/%s runs without the feature gates %s: set EXP_RUNTIME_SDK=true and EXP_IN_PLACE_UPDATES=true "+
		"for clusterctl, or add them to its argument %s", deployment.Namespace, deployment.Name, strings.Join(off, " and "), gatesFlag)
}

// gatesOff returns those required gates of a provider that no container of its Pod is given.
func gatesOff(provider string, pod *corev1.PodSpec) []string {
	given := map[string]bool{}
	for i := range pod.Containers {
		readGates(append(slices.Clone(pod.Containers[i].Command), pod.Containers[i].Args...), given)
	}
	return slices.DeleteFunc(requiredGates(provider), func(gate string) bool {
		on, set := given[gate]
		return on || !set && given[allAlpha]
	})
}

// readGates reads "--feature-gates=A=true,B=false" and the form in two arguments. The last one wins.
func readGates(arguments []string, given map[string]bool) {
	for i, argument := range arguments {
		value, found := strings.CutPrefix(argument, gatesFlag+"=")
		if !found && argument == gatesFlag && i+1 < len(arguments) {
			value = arguments[i+1]
		}
		for _, gate := range strings.Split(value, ",") {
			name, state, _ := strings.Cut(strings.TrimSpace(gate), "=")
			on, err := strconv.ParseBool(state)
			given[name] = err == nil && on
		}
	}
}
