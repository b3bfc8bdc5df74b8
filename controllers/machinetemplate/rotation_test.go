// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const gatesOn = "--feature-gates=RuntimeSDK=true,InPlaceUpdates=true"

// rotate has the MachineDeployment refer to another template, from which the one is looked at then.
func (w *world) rotate() {
	GinkgoHelper()
	w.template = ownertest.Template(w.namespace, "next", imageB)
	plane.Create(ctx, w.template)
	apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Name = "next" })
}

// newRotated is a MachineDeployment that refers to another template than its Machine was made from.
func newRotated() *world {
	GinkgoHelper()
	w := newWorld()
	w.addOfPool(w.set, "m1", "t", imageA)
	w.reconcile()
	w.rotate()
	return w
}

var _ = Describe("A template that an owner was rotated to", func() {
	core := func(arguments ...string) { plane.Create(ctx, deployment("core", "cluster-api", arguments...)) }
	ours := func() { installExtension(ourExtension("elemental", true)) }

	DescribeTable("says what has the Machines replaced that Cluster API is to bring to it",
		func(install func(*world), reason string, toChange ...string) {
			w := newRotated()
			install(w)
			for range 2 {
				Expect(w.reconcile().RequeueAfter).To(BeNumerically(">", 0), "it is looked at again")
			}
			Expect(w.onlyRollout().Spec).To(And(HaveField("TemplateName", "next"), HaveField("Options.MaxConcurrent", BeEquivalentTo(7))))
			Expect(w.attempts()).To(BeEmpty())
			w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, reason)
			for _, part := range toChange {
				Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring(part))
			}
			Expect(w.events.Events).To(HaveLen(1), "the same message is reported once")
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
			w.addControlPlane(nil)
		}, infrav1.FeatureGatesOffReason, "Deployment default/kcp"),
		Entry("the control plane is too small", func(w *world) {
			core(gatesOn)
			ours()
			plane.Create(ctx, deployment("kcp", "control-plane-kubeadm", gatesOn))
			w.addControlPlane(ptr.To[int32](1))
		}, infrav1.UnsupportedControlPlaneReason, "KubeadmControlPlane cp has spec.replicas 1 and cannot be updated in place"),
		Entry("everything at once, so that it can be put right in one go", func(w *world) {
			apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = nil })
		}, infrav1.ExtensionNotReadyReason, "--runtime-extension", "cannot be read", "maxSurge 1 by default"),
	)

	DescribeTable("says nothing where they are updated in place", func(install func(*world)) {
		w := newRotated()
		install(w)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
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
			w.addControlPlane(nil)
		}),
		Entry("under another name of our ExtensionConfig", func(*world) {
			core(gatesOn)
			installExtension(ourExtension("renamed", true))
		}),
	)

	It("says so while they are updated, and nothing once all were", func() {
		allowInPlaceUpdates()
		w := newRotated()
		Expect(w.reconcile().RequeueAfter).To(BeNumerically(">", 0))
		rival := foreignExtension("rival", nil)
		installExtension(rival)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.CompetingExtensionReason)
		Expect(c.Delete(ctx, rival)).To(Succeed())
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)

		By("the last update, after which the Machine is made from the template")
		machine := w.elemental("m1")
		apiserver.Change(ctx, c, machine, func() {
			machine.Spec.OSVersionManagement = osversion.OfImage(imageB)
			machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "next"
			machine.Annotations[clusterv1.UpdateInProgressAnnotation] = ""
		})
		Expect(w.reconcile().RequeueAfter).To(BeNumerically(">", 0))
		w.runs("m1", imageB)
		machine = w.elemental("m1")
		apiserver.Change(ctx, c, machine, func() { delete(machine.Annotations, clusterv1.UpdateInProgressAnnotation) })
		Expect(w.reconcile().RequeueAfter).To(BeZero())
		Expect(w.noted("m1")).To(Equal([]string{"next", hashOf(imageB)}))
		Expect(w.attempts()).To(BeEmpty())
		Expect(w.onlyRollout().Spec.Completed).To(BeTrue())
	})

	It("waits for a Cluster that is paused", func() {
		allowInPlaceUpdates()
		w := newRotated()
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(true) })
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.WaitingForClusterReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(Equal("MachineDeployment md is paused, by itself or with Cluster c"))
		Expect(w.rollouts()).To(BeEmpty())
	})
})

// addControlPlane adds one that refers to the template, with a Machine of another.
func (w *world) addControlPlane(replicas *int32) {
	GinkgoHelper()
	kcp := ownertest.KubeadmControlPlane(w.namespace, "cp", "c", w.template.Name)
	if replicas != nil {
		kcp.Spec.Replicas = replicas
	}
	plane.Create(ctx, kcp)
	w.addServed(ownertest.ControlPlaneMachine(kcp, "cp-1"), "t", imageA)
}
