// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// held is what keeps the OS from all Machines: the first reason, and its message.
func held(ctx context.Context) (string, error) {
	template := &infrav1.ElementalMachineTemplate{}
	err := cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Template}, template)
	if err != nil || len(template.Status.Holds) == 0 {
		return "", err
	}
	return string(template.Status.Holds[0].Reason) + ": " + template.Status.Holds[0].Message, nil
}

// withoutWebhook removes the webhook for the rest of the spec.
func withoutWebhook(ctx context.Context) {
	GinkgoHelper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Name: "preflight-webhook-configuration"}, configuration)).To(Succeed())
	Expect(cluster.Lab.Kube.Delete(ctx, configuration.DeepCopy())).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		configuration.ObjectMeta = metav1.ObjectMeta{Name: configuration.Name, Labels: configuration.Labels, Annotations: configuration.Annotations}
		Expect(cluster.Lab.Kube.Create(ctx, configuration)).To(Succeed())
	})
}

var _ = Describe("A request", Ordered, func() {
	It("is rejected while something blocks it, and carried out when that is gone", func(ctx SpecContext) {
		wanted := push(ctx)
		workload("cordon", last)(ctx)
		printed, err := patch(ctx, wanted.URI())
		Expect(err).To(HaveOccurred())
		Expect(printed).To(ContainSubstring("\nNode/" + last + ": was cordoned by someone else"))
		workload("uncordon", last)(ctx)
		printed, err = patch(ctx, wanted.URI())
		Expect(err).NotTo(HaveOccurred(), printed)
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	})

	It("waits with a reason where it gets past the webhook, and continues by itself", func(ctx SpecContext) {
		wanted := push(ctx)
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		withoutWebhook(ctx)
		workload("cordon", last)(ctx)
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Eventually(held, patience, look).WithContext(ctx).Should(
			HavePrefix(string(infrav1.HoldPreflightFailed) + ": Node/" + last + ": was cordoned by someone else"))
		Consistently(held, calm, look).WithContext(ctx).Should(HavePrefix(string(infrav1.HoldPreflightFailed)))
		workload("uncordon", last)(ctx)
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Expect(cluster.Identities(ctx)).To(Equal(before))
	})
})
