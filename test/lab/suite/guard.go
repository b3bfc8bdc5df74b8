// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WithoutGuard allows template references to be changed at any moment, until the guard is restored or the spec ends.
func WithoutGuard(ctx context.Context, kube client.Client) (restore func(context.Context)) {
	GinkgoHelper()
	list := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	Expect(kube.List(ctx, list)).To(Succeed())
	at := slices.IndexFunc(list.Items, func(c admissionregistrationv1.ValidatingWebhookConfiguration) bool {
		return strings.HasSuffix(c.Name, "guard-webhook-configuration")
	})
	Expect(at).To(BeNumerically(">=", 0), "the guard is installed")
	guard := list.Items[at].DeepCopy()
	Expect(kube.Delete(ctx, guard)).To(Succeed())
	restore = func(ctx context.Context) {
		GinkgoHelper()
		again := guard.DeepCopy()
		again.ResourceVersion, again.UID = "", ""
		Expect(client.IgnoreAlreadyExists(kube.Create(ctx, again))).To(Succeed())
	}
	DeferCleanup(func(ctx SpecContext) { restore(ctx) })
	return restore
}
