// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// whoAmI returns a function that asks the API server, once, for the manager's user name. It is the same for all replicas.
func whoAmI(mgr ctrl.Manager) func(context.Context) (string, error) {
	var mu sync.Mutex
	name := ""
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if name != "" {
			return name, nil
		}
		asked, err := askWho(ctx, mgr)
		if err != nil {
			return "", err
		}
		name = asked
		return name, nil
	}
}

func askWho(ctx context.Context, mgr ctrl.Manager) (string, error) {
	scheme := runtime.NewScheme()
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		return "", fmt.Errorf("preparing a self review: %w", err)
	}
	asking, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: scheme})
	if err != nil {
		return "", fmt.Errorf("preparing a self review: %w", err)
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := asking.Create(ctx, review); err != nil {
		return "", fmt.Errorf("asking the API server who the manager is: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}
