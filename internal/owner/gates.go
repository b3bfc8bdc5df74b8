// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/featuregates"
)

// gatesKnownFor is how long an answer about feature gates holds. One reconcile may ask for the owners of many Clusters, which have one
// provider.
const gatesKnownFor = 5 * time.Second

// knownGates are the providers that a moment ago ran with or without the feature gates that updates in place need.
type knownGates struct {
	mu      sync.Mutex
	answers map[string]gatesAnswer
}

type gatesAnswer struct {
	areOff bool
	at     time.Time
}

// areOff reports whether a Deployment of a provider runs without one of the gates. Where none is found they are not known to be off.
func (g *knownGates) areOff(ctx context.Context, owners *Owners, provider string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := owners.Clock.Now()
	if answer, known := g.answers[provider]; known && now.Sub(answer.at) < gatesKnownFor {
		return answer.areOff, nil
	}
	deployments, err := featuregates.Deployments(ctx, owners.Live, provider)
	if err != nil {
		return false, err
	}
	answer := gatesAnswer{at: now, areOff: slices.ContainsFunc(deployments, func(deployment appsv1.Deployment) bool {
		return len(featuregates.Off(provider, &deployment.Spec.Template.Spec)) > 0
	})}
	if g.answers == nil {
		g.answers = map[string]gatesAnswer{}
	}
	g.answers[provider] = answer
	return answer.areOff, nil
}
