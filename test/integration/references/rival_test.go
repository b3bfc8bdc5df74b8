// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const rivalName = "rival"

// newRival registers another extension with the in-place hooks for the namespace; our own server
// serves it, under its name. It returns a function that removes it.
func newRival(ctx context.Context) (remove func(ctx context.Context)) {
	GinkgoHelper()
	ours := &runtimev1.ExtensionConfig{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Name: capi.ExtensionName}, ours)).To(Succeed())
	rival := &runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: rivalName}, Spec: *ours.Spec.DeepCopy()}
	rival.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": cluster.Namespace()}}
	Expect(cluster.Lab.Kube.Create(ctx, rival)).To(Succeed())
	remove = func(ctx context.Context) {
		GinkgoHelper()
		Expect(client.IgnoreNotFound(cluster.Lab.Kube.Delete(ctx, rival))).To(Succeed())
	}
	DeferCleanup(func(ctx SpecContext) { remove(ctx) })
	Eventually(func(ctx context.Context) (bool, error) {
		err := cluster.Lab.Kube.Get(ctx, client.ObjectKeyFromObject(rival), rival)
		return conditions.IsTrue(rival, runtimev1.ExtensionConfigDiscoveredCondition), err
	}).WithContext(ctx).Should(BeTrue())
	return remove
}

var _ = Describe("A second extension for the in-place hooks of the namespace", func() {
	const competes = "True/" + infrav1.CompetingExtensionReason + ": ExtensionConfig " + rivalName
	const unblocked = "False/" + infrav1.NotBlockedReason

	It("is not in the way of a patched template", func(ctx SpecContext) {
		template := atRest(ctx)
		newRival(ctx)
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		reaches(ctx, wanted)
		Expect(conditionOf(ctx, template, infrav1.RolloutBlockedCondition)).To(HavePrefix(unblocked))
	})

	It("has a rotation refused before anything changes", func(ctx SpecContext) {
		template := atRest(ctx)
		remove := newRival(ctx)
		wanted := suite.Push(ctx, cluster, image.OS{})
		to := newTemplate(ctx, wanted)
		Expect(pointTo(ctx, to)).To(MatchError(ContainSubstring("ExtensionConfig " + rivalName)))
		Expect(madeFrom(ctx)).To(HaveEach(template))

		remove(ctx)
		Eventually(pointTo).WithContext(ctx).WithArguments(to).Should(Succeed())
		reaches(ctx, wanted)
	})

	It("blocks a running rotation, which continues without it, however often the hook has failed (finding 12)", func(ctx SpecContext) {
		atRest(ctx)
		wanted := suite.Push(ctx, cluster, image.OS{})
		attempt, release := begin(ctx, wanted)
		template, err := reference(ctx)
		Expect(err).NotTo(HaveOccurred())
		remove := newRival(ctx)
		Eventually(conditionOf).WithContext(ctx).WithArguments(template, infrav1.RolloutBlockedCondition).Should(HavePrefix(competes))
		Eventually(func(ctx context.Context) (string, error) {
			machine, err := machineOf(ctx, attempt)
			return conditions.GetReason(machine, clusterv1.MachineUpdatingCondition), err
		}).WithContext(ctx).Should(Equal(clusterv1.MachineInPlaceUpdateFailedReason))

		By("completing the upgrade of the host meanwhile, and touching no other")
		release()
		_, err = cluster.AwaitEnd(ctx, wanted, infrav1.UpgradeSucceeded)
		Expect(err).NotTo(HaveOccurred())
		first := retried(ctx, attempt)
		Expect(first).NotTo(BeEmpty())
		Eventually(retried).WithContext(ctx).WithArguments(attempt).ShouldNot(Equal(first), "the hook is called again and again")
		Expect(cluster.Attempts(ctx)).To(WithTransform(hostsOf(wanted), ConsistOf(attempt.Spec.HostName)))
		expectKept(ctx)

		remove(ctx)
		reaches(ctx, wanted)
		Eventually(conditionOf).WithContext(ctx).WithArguments(template, infrav1.RolloutBlockedCondition).Should(HavePrefix(unblocked))
		Eventually(retried).WithContext(ctx).WithArguments(attempt).Should(BeEmpty())
	})
})

// retried is when Cluster API was last made to call the hook for the Machine of an attempt.
func retried(ctx context.Context, attempt *infrav1.ElementalHostUpgrade) string {
	GinkgoHelper()
	machine := &infrav1.ElementalMachine{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: attempt.Namespace, Name: attempt.Spec.ElementalMachineName}, machine)).To(Succeed())
	return machine.Annotations[infrav1.HookRetryAnnotation]
}

// hostsOf returns the hosts of the attempts for an image.
func hostsOf(os image.Image) func([]infrav1.ElementalHostUpgrade) []string {
	return func(attempts []infrav1.ElementalHostUpgrade) []string {
		hosts := []string{}
		for i := range attempts {
			if attempts[i].Spec.ImageURI == os.URI() {
				hosts = append(hosts, attempts[i].Spec.HostName)
			}
		}
		return hosts
	}
}
