// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A template of a ClusterClass", func() {
	var (
		w         *world
		elemental *infrav1.ElementalCluster
		clock     *clocktesting.FakePassiveClock
	)
	ofClass := func(name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "ClusterClass", Name: name, UID: "x"}}
	}
	told := func() string {
		GinkgoHelper()
		return apiserver.Get(ctx, c, elemental).Annotations[infrav1.ClassTemplatesAnnotation]
	}
	BeforeEach(func() {
		w = newWorld()
		clock = clocktesting.NewFakePassiveClock(time.Now().Add(time.Minute))
		w.reconciler.Owners.Clock = clock
		cluster, infrastructure := ownertest.Cluster(w.namespace, "of-class", infrav1.NodeUpgradeOption{})
		cluster.Spec.Topology = clusterv1.Topology{ClassRef: clusterv1.ClusterClassRef{Name: "class"}, Version: "v1.36.3"}
		plane.Create(ctx, cluster, infrastructure)
		elemental = infrastructure
		w.template = ownertest.Template(w.namespace, "class-workers", imageA)
		w.template.OwnerReferences = ofClass("class")
		plane.Create(ctx, w.template)
	})

	It("makes Cluster API look when it is changed, once for each content", func() {
		w.reconcile()
		Expect(told()).To(BeEmpty(), "it is as the topology saw it first")
		w.patch(imageB)
		w.reconcile()
		first := told()
		Expect(first).NotTo(BeEmpty())
		version := apiserver.Get(ctx, c, elemental).ResourceVersion
		w.reconcile()
		Expect(apiserver.Get(ctx, c, elemental).ResourceVersion).To(Equal(version))
		w.patch(imageC)
		w.reconcile()
		Expect(told()).NotTo(BeElementOf("", first))
	})

	It("gives Cluster API's cache time to see the change", func() {
		var changed time.Time
		Eventually(func() time.Duration {
			w.patch(fmt.Sprintf("%s-%d", imageB, time.Now().UnixNano()))
			changed = w.template.ManagedFields[len(w.template.ManagedFields)-1].Time.Time
			return changed.Sub(w.template.CreationTimestamp.Time)
		}).Should(BeNumerically(">", 2*time.Second), "it was made long ago")
		clock.SetTime(changed.Add(time.Second))
		Expect(w.reconcile().RequeueAfter).To(Equal(time.Second))
		Expect(told()).To(BeEmpty())
		clock.SetTime(changed.Add(2 * time.Second))
		w.reconcile()
		Expect(told()).NotTo(BeEmpty())
	})

	It("is not kept waiting by an API server whose clock is ahead", func() {
		clock.SetTime(time.Now().Add(-8 * time.Hour))
		w.patch(imageB)
		w.reconcile()
		Expect(told()).NotTo(BeEmpty())
	})

	It("says the same of a class whichever of its templates is looked at", func() {
		other := ownertest.Template(w.namespace, "class-others", imageA)
		other.OwnerReferences = ofClass("class")
		plane.Create(ctx, other)
		w.patch(imageB)
		w.reconcile()
		first := told()
		mine := w.template
		w.template = other
		w.patch(imageB)
		w.reconcile()
		second := told()
		Expect(second).NotTo(Equal(first))
		w.template = mine
		w.reconcile()
		Expect(told()).To(Equal(second))
	})

	It("leaves the clusters of other classes, and of none, alone", func() {
		other := ownertest.Template(w.namespace, "elsewhere", imageA)
		other.OwnerReferences = ofClass("other")
		plane.Create(ctx, other)
		w.template = other
		w.patch(imageB)
		w.reconcile()
		Expect(told()).To(BeEmpty())
		none := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}
		Expect(apiserver.Get(ctx, c, none).Annotations).NotTo(HaveKey(infrav1.ClassTemplatesAnnotation))
	})
})
