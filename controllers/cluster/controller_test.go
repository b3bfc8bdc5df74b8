// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var endpoint = clusterv1.APIEndpoint{Host: "10.0.0.100", Port: 6443}

// makeCluster makes a Cluster and its ElementalCluster, which Cluster API has not come to own yet.
func makeCluster(ctx SpecContext, changes ...func(*infrav1.ElementalCluster)) (*clusterv1.Cluster, *infrav1.ElementalCluster) {
	GinkgoHelper()
	namespace := server.NewNamespace(ctx)
	owner := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c1"}}
	owner.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: "c1",
	}
	Expect(server.Client.Create(ctx, owner)).To(Succeed())
	object := &infrav1.ElementalCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c1", Labels: map[string]string{clusterv1.WatchLabel: watchFilter}},
	}
	for _, change := range changes {
		change(object)
	}
	Expect(server.Client.Create(ctx, object)).To(Succeed())
	return owner, object
}

// own does what Cluster API does.
func own(ctx SpecContext, owner *clusterv1.Cluster, object *infrav1.ElementalCluster) {
	GinkgoHelper()
	apiserver.Change(ctx, server.Client, object, func() {
		object.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: owner.Name, UID: owner.UID,
		}}
	})
}

// settled is the version of an object once nothing writes it any more: one change is written in several requests.
func settled(ctx SpecContext, object *infrav1.ElementalCluster) string {
	GinkgoHelper()
	last := ""
	Eventually(func() (bool, error) {
		before := last
		_, err := server.Stored(ctx, object)()
		last = object.ResourceVersion
		return last == before, err
	}).WithContext(ctx).MustPassRepeatedly(30).Should(BeTrue())
	return last
}

var _ = Describe("An ElementalCluster", func() {
	It("is provisioned when it is owned and has an endpoint", func(ctx SpecContext) {
		owner, object := makeCluster(ctx)
		Eventually(server.Stored(ctx, object)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.CAPIClusterReadyCondition, metav1.ConditionFalse, infrav1.MissingClusterOwnerReason),
			apiserver.HaveCondition(infrav1.ControlPlaneEndpointReadyCondition, metav1.ConditionFalse, infrav1.MissingControlPlaneEndpointReason),
			apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason),
		))
		own(ctx, owner, object)
		Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(infrav1.CAPIClusterReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Expect(object.Status.Initialization.Provisioned).To(BeNil())

		apiserver.Change(ctx, server.Client, object, func() { object.Spec.ControlPlaneEndpoint = endpoint })
		Eventually(server.Stored(ctx, object)).Should(SatisfyAll(
			apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
			HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())),
		))
	})

	It("is told of its Cluster when that comes after it", func(ctx SpecContext) {
		owner, object := makeCluster(ctx)
		Expect(server.Client.Delete(ctx, owner)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(cached.Get(ctx, client.ObjectKeyFromObject(owner), &clusterv1.Cluster{}))
		}).Should(BeTrue())
		own(ctx, owner, object)
		Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(infrav1.CAPIClusterReadyCondition, metav1.ConditionFalse, infrav1.MissingClusterOwnerReason))
		settled(ctx, object)
		again := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}, Spec: owner.Spec}
		Expect(server.Client.Create(ctx, again)).To(Succeed())
		Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(infrav1.CAPIClusterReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
	})

	It("keeps what the upgrade controller has written", func(ctx SpecContext) {
		owner, object := makeCluster(ctx, func(c *infrav1.ElementalCluster) {
			c.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: "sha256:1", Host: "h1"}}
		})
		slots := []infrav1.UpgradeSlot{{Attempt: "a1", Upgrade: "u1"}}
		apiserver.ChangeStatus(ctx, server.Client, object, func() { object.Status.UpgradeSlots = slots })
		own(ctx, owner, object)
		apiserver.Change(ctx, server.Client, object, func() { object.Spec.ControlPlaneEndpoint = endpoint })
		Eventually(server.Stored(ctx, object)).Should(SatisfyAll(
			HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())),
			HaveField("Status.UpgradeSlots", slots),
			HaveField("Spec.Quarantine", ConsistOf(infrav1.QuarantinedImage{Digest: "sha256:1", Host: "h1"})),
		))
	})

	DescribeTable("is left alone",
		func(ctx SpecContext, change func(*infrav1.ElementalCluster)) {
			owner, object := makeCluster(ctx, func(c *infrav1.ElementalCluster) { c.Spec.ControlPlaneEndpoint = endpoint }, change)
			own(ctx, owner, object)
			apiserver.Change(ctx, server.Client, owner, func() { owner.Spec.Paused = ptr.To(true) })
			apiserver.Change(ctx, server.Client, owner, func() { owner.Spec.Paused = nil })
			Consistently(server.Stored(ctx, object)).Should(HaveField("Status.Conditions", BeEmpty()))
		},
		Entry("when it is externally managed", func(c *infrav1.ElementalCluster) {
			c.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "terraform"}
		}),
		Entry("without the watch-filter label", func(c *infrav1.ElementalCluster) { c.Labels = nil }),
	)

	It("does nothing while its Cluster is paused", func(ctx SpecContext) {
		owner, object := makeCluster(ctx)
		own(ctx, owner, object)
		Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(infrav1.CAPIClusterReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		apiserver.Change(ctx, server.Client, owner, func() { owner.Spec.Paused = ptr.To(true) })
		Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason))
		apiserver.Change(ctx, server.Client, object, func() { object.Spec.ControlPlaneEndpoint = endpoint })
		Consistently(server.Stored(ctx, object)).Should(HaveField("Status.Initialization.Provisioned", BeNil()))
		apiserver.Change(ctx, server.Client, owner, func() { owner.Spec.Paused = nil })
		Eventually(server.Stored(ctx, object)).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))
	})
})
