// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const gatesOn = "--feature-gates=RuntimeSDK=true,InPlaceUpdates=true"

var _ = Describe("A patch", func() {
	core := func(arguments ...string) { plane.Create(ctx, deployment("core", "cluster-api", arguments...)) }
	ours := func() { installExtension(ourExtension("elemental", true)) }

	DescribeTable("moves nothing where the preconditions for in-place updates are not met",
		func(install func(*world), reason string, toChange ...string) {
			w := newWorld()
			install(w)
			w.patch(imageB)
			version := apiserver.Get(ctx, c, w.md).ResourceVersion
			for range 2 {
				Expect(w.reconcile().RequeueAfter).To(BeNumerically(">", 0), "it is tried again")
			}
			Expect(w.md.ResourceVersion).To(Equal(version))
			Expect(w.clones()).To(BeEmpty())
			w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, reason)
			w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.BlockedReason)
			for _, part := range toChange {
				Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring(part))
			}
			Expect(w.events.Events).To(HaveLen(1), "the same message is told once")
			Expect(<-w.events.Events).To(ContainSubstring(infrav1.EventRolloutBlocked))
		},
		Entry("the gates are off by default", func(*world) { ours(); core("--leader-elect") }, infrav1.FeatureGatesOffReason,
			"Deployment default/core", "RuntimeSDK and InPlaceUpdates", "EXP_IN_PLACE_UPDATES=true"),
		Entry("one gate is off", func(*world) { ours(); core("--feature-gates=RuntimeSDK=true,InPlaceUpdates=false") }, infrav1.FeatureGatesOffReason, "feature gates InPlaceUpdates:"),
		Entry("the last of several flags wins", func(*world) { ours(); core(gatesOn, "--feature-gates", "RuntimeSDK=false") }, infrav1.FeatureGatesOffReason, "feature gates RuntimeSDK:"),
		Entry("one gate is off among all alpha ones", func(*world) { ours(); core("--feature-gates=AllAlpha=true,InPlaceUpdates=false") }, infrav1.FeatureGatesOffReason),
		Entry("the gates cannot be read", func(*world) { ours() }, infrav1.FeatureGatesUnknownReason, "cluster.x-k8s.io/provider=cluster-api", infrav1.FeatureGatesAnnotation+"=enabled"),
		Entry("gates that are off are not asserted away", func(*world) {
			extension := ourExtension("elemental", true)
			extension.Annotations = map[string]string{infrav1.FeatureGatesAnnotation: infrav1.FeatureGatesEnabled}
			installExtension(extension)
			core()
		}, infrav1.FeatureGatesOffReason),
		Entry("the extension is not installed", func(*world) { core(gatesOn) }, infrav1.ExtensionNotReadyReason, "clusterctl init --runtime-extension elemental"),
		Entry("the extension is not discovered", func(*world) {
			core(gatesOn)
			installExtension(ourExtension("elemental", false))
		}, infrav1.ExtensionNotReadyReason, "ExtensionConfig elemental is not discovered"),
		Entry("the namespace is not selected", func(w *world) {
			core(gatesOn)
			extension := ourExtension("elemental", true)
			extension.Spec.NamespaceSelector.MatchLabels = map[string]string{"other": "namespace"}
			installExtension(extension)
		}, infrav1.ExtensionNotMatchingReason, infrav1.ExtensionNamespaceLabel+"=enabled"),
		Entry("another extension claims the namespace", func(*world) {
			core(gatesOn)
			ours()
			installExtension(foreignExtension("claims-all", nil))
		}, infrav1.CompetingExtensionReason, "ExtensionConfig claims-all"),
		Entry("a surge Machine is made first", func(w *world) {
			core(gatesOn)
			ours()
			apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(1)) })
		}, infrav1.UnsupportedStrategyReason, "MachineDeployment md", "set maxSurge 0"),
		Entry("the control plane's controller has no gates", func(w *world) {
			core(gatesOn)
			ours()
			plane.Create(ctx, deployment("kcp", "control-plane-kubeadm", "--leader-elect"))
			plane.Create(ctx, ownertest.KubeadmControlPlane(w.namespace, "cp", "c", "t"))
		}, infrav1.FeatureGatesOffReason, "Deployment default/kcp"),
		Entry("the control plane is too small", func(w *world) {
			core(gatesOn)
			ours()
			plane.Create(ctx, deployment("kcp", "control-plane-kubeadm", gatesOn))
			kcp := ownertest.KubeadmControlPlane(w.namespace, "cp", "c", "t")
			kcp.Spec.Replicas = ptr.To[int32](1)
			plane.Create(ctx, kcp)
			w.setDriver(infrav1.DriverClusterAPI)
		}, infrav1.UnsupportedControlPlaneReason, "KubeadmControlPlane cp has spec.replicas 1 and cannot be updated in place"),
		Entry("everything at once, so that it can be put right in one go", func(w *world) {
			apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = nil })
		}, infrav1.ExtensionNotReadyReason, "--runtime-extension", "cannot be read", "maxSurge 1 by default"),
	)

	DescribeTable("moves where it is proven", func(install func(*world)) {
		w := newWorld()
		install(w)
		w.patch(imageB)
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"), w.message(infrav1.RolloutBlockedCondition))
	},
		Entry("by two arguments", func(*world) { ours(); core("--feature-gates", "RuntimeSDK=true,InPlaceUpdates=true") }),
		Entry("by all alpha gates", func(*world) { ours(); core("--feature-gates=AllAlpha=true") }),
		Entry("by assertion, where the gates cannot be read", func(*world) {
			extension := ourExtension("elemental", true)
			extension.Annotations = map[string]string{infrav1.FeatureGatesAnnotation: infrav1.FeatureGatesEnabled}
			installExtension(extension)
		}),
		Entry("beside an extension of other namespaces", func(*world) {
			ours()
			core(gatesOn)
			installExtension(foreignExtension("elsewhere", map[string]string{"other": "namespace"}))
		}),
		Entry("for a control plane too, whose controller has no gate RuntimeSDK", func(w *world) {
			ours()
			core(gatesOn)
			plane.Create(ctx, deployment("kcp", "control-plane-kubeadm", "--feature-gates=ClusterTopology=true,InPlaceUpdates=true"))
			plane.Create(ctx, ownertest.KubeadmControlPlane(w.namespace, "cp", "c", "t"))
		}),
		Entry("under another name of our ExtensionConfig", func(*world) {
			core(gatesOn)
			installExtension(ourExtension("renamed", true))
		}),
	)

	It("takes a control plane along", func() {
		w := newWorld()
		core(gatesOn)
		ours()
		plane.Create(ctx, deployment("kcp", "control-plane-kubeadm", gatesOn))
		kcp := ownertest.KubeadmControlPlane(w.namespace, "cp", "c", "t")
		plane.Create(ctx, kcp)
		ownertest.Observe(ctx, c, kcp, 3)
		w.patch(imageB)
		w.reconcile()
		Expect(apiserver.Get(ctx, c, kcp).Spec.MachineTemplate.Spec.InfrastructureRef.Name).To(Equal(w.refersTo()))
	})
})
