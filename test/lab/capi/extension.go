// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// ExtensionName is the name of our ExtensionConfig.
const ExtensionName = "elemental"

const discoverPoll = 200 * time.Millisecond

// Register creates our ExtensionConfig and waits until Cluster API has discovered the hooks.
func Register(ctx context.Context, env Env, port int) error {
	config := &runtimev1.ExtensionConfig{
		ObjectMeta: metav1.ObjectMeta{Name: ExtensionName},
		Spec: runtimev1.ExtensionConfigSpec{
			ClientConfig: runtimev1.ClientConfig{
				URL:      fmt.Sprintf("https://127.0.0.1:%d", port),
				CABundle: env.Management.Authority().CertPEM,
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled,
			}},
		},
	}
	if err := env.Client.Create(ctx, config); err != nil {
		return fmt.Errorf("creating ExtensionConfig %s: %w", config.Name, err)
	}
	err := wait.PollUntilContextTimeout(ctx, discoverPoll, process.Patience, true, func(ctx context.Context) (bool, error) {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return false, fmt.Errorf("reading ExtensionConfig %s: %w", config.Name, err)
		}
		return conditions.IsTrue(config, runtimev1.ExtensionConfigDiscoveredCondition), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for ExtensionConfig %s to be discovered: %w", config.Name, err)
	}
	return nil
}
