// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// register creates the registration and returns the configuration of its agents, as hack/print-agent-config.sh
// prints it.
func (c *cluster) register(ctx context.Context) []byte {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join("data", "registration.yaml"))
	Expect(err).NotTo(HaveOccurred())
	registration := &infrav1.ElementalRegistration{}
	Expect(yaml.UnmarshalStrict(content, registration)).To(Succeed())
	registration.Namespace = c.namespace.Name
	Expect(management.GetClient().Create(ctx, registration)).To(Succeed())

	Eventually(func(g Gomega) {
		g.Expect(management.GetClient().Get(ctx, client.ObjectKeyFromObject(registration), registration)).To(Succeed())
		g.Expect(registration.Status.TokenSecretName).NotTo(BeEmpty())
	}, c.intervals("wait-hosts")...).WithContext(ctx).Should(Succeed())
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: registration.Namespace, Name: registration.Status.TokenSecretName}
	Expect(management.GetClient().Get(ctx, key, secret)).To(Succeed())
	agentConfig, err := yaml.Marshal(map[string]any{
		"registration": infrav1.Registration{
			URI: registration.Status.URI, CACert: registration.Status.CACert, Token: string(secret.Data[infrav1.RegistrationTokenSecretKey]),
		},
		"agent": registration.Spec.Config.Elemental.Agent,
	})
	Expect(err).NotTo(HaveOccurred())
	return agentConfig
}
