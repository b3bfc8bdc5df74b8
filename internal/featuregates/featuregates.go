// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package featuregates

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
	// Flag that sets feature gates.
	Flag = "--feature-gates"
	// allAlpha turns on every gate that is alpha, as both of ours are.
	// Source: k8s.io/component-base/featuregate; stages as of Cluster API 1.14.
	allAlpha = "AllAlpha"
)

// Values of Cluster API's provider label on the Deployments whose feature gates matter.
const (
	Core                = "cluster-api"
	KubeadmControlPlane = "control-plane-kubeadm"
	RKE2ControlPlane    = "control-plane-rke2"
)

// Required are the gates, off by default, that a provider of Cluster API needs for in-place updates. Only the core provider accepts
// and discovers extensions: the components of control planes name no RuntimeSDK.
// Source: core/config/manager and controlplane/kubeadm/config/manager of Cluster API 1.14, controlplane/config/manager of CAPRKE2 0.25.
func Required(provider string) []string {
	if provider == Core {
		return []string{"RuntimeSDK", "InPlaceUpdates"}
	}
	return []string{"InPlaceUpdates"}
}

// Deployments of a provider, of which there are more than one where it runs in several namespaces. They are listed by their label.
func Deployments(ctx context.Context, live client.Reader, provider string) ([]appsv1.Deployment, error) {
	list := &appsv1.DeploymentList{}
	if err := live.List(ctx, list, client.MatchingLabels{clusterv1.ProviderNameLabel: provider}); err != nil {
		return nil, fmt.Errorf("listing the Deployments of %s: %w", provider, err)
	}
	return list.Items, nil
}

// Off returns those required gates of a provider that no container of its Pod is given.
func Off(provider string, pod *corev1.PodSpec) []string {
	given := map[string]bool{}
	for i := range pod.Containers {
		readGates(append(slices.Clone(pod.Containers[i].Command), pod.Containers[i].Args...), given)
	}
	return slices.DeleteFunc(Required(provider), func(gate string) bool {
		on, set := given[gate]
		return on || !set && given[allAlpha]
	})
}

// readGates reads "--feature-gates=A=true,B=false" and the form in two arguments. The last one wins.
func readGates(arguments []string, given map[string]bool) {
	for i, argument := range arguments {
		value, found := strings.CutPrefix(argument, Flag+"=")
		if !found && argument == Flag && i+1 < len(arguments) {
			value = arguments[i+1]
		}
		for _, gate := range strings.Split(value, ",") {
			name, state, _ := strings.Cut(strings.TrimSpace(gate), "=")
			on, err := strconv.ParseBool(state)
			given[name] = err == nil && on
		}
	}
}
