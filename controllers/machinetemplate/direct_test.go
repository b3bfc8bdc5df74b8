// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A patched template, of Machines without an owner and of control planes", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		Expect(c.Delete(ctx, w.md)).To(Succeed())
		w.addMachine("alone", nil)
		w.addMachine("cp", controlPlaneOf("K3sControlPlane"))
		w.reconcile()
	})

	It("brings a later change of the template to one Machine after the other, control planes first, and leaves everything of Cluster API alone", func() {
		Expect(w.elemental("cp").Annotations).To(And(
			HaveKeyWithValue(infrav1.NotedTemplateAnnotation, "t"), HaveKey(infrav1.NotedOSAnnotation)))
		Expect(w.attempts()).To(BeEmpty(), "what is found is not rolled out")
		Expect(apiserver.Get(ctx, c, w.template).Status.Owners).To(Equal([]infrav1.TemplateOwner{
			{Owner: "K3sControlPlane cp", Driver: infrav1.DriverDirect}, {Owner: "Machine alone", Driver: infrav1.DriverDirect},
		}))

		w.patch(imageB)
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(2), "all at once: step Admit knows their turn")
		made, rollout := w.attemptOn("cp"), w.onlyRollout().Name
		Expect(made.Labels).To(HaveKey(clusterv1.MachineControlPlaneLabel))
		Expect(w.attemptOn("alone").Labels).NotTo(HaveKey(clusterv1.MachineControlPlaneLabel))
		Expect(made.Spec).To(And(
			HaveField("Driver", infrav1.DriverDirect), HaveField("MachineName", "cp"), HaveField("HostName", "host-cp"),
			HaveField("TemplateName", "t"), HaveField("RolloutName", rollout), HaveField("ImageURI", imageB), HaveField("Options.MaxConcurrent", BeEquivalentTo(7))))
		for _, name := range []string{"cp", "alone"} {
			Expect(w.elemental(name).Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageB)))
			Expect(w.elemental(name).Annotations).To(HaveKeyWithValue(infrav1.RolloutAnnotation, rollout))
		}
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.MachinesNotUpToDateReason)
		w.reconcile()
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(2))

		w.succeed(imageB)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)

		for _, name := range []string{"cp", "alone"} {
			machine := apiserver.Get(ctx, c, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}})
			Expect(machine.Annotations).To(BeEmpty())
			Expect(w.elemental(name).Annotations).To(And(
				HaveKeyWithValue(infrav1.NotedTemplateAnnotation, "t"), Not(HaveKey(infrav1.RolloutAnnotation)), HaveKeyWithValue(infrav1.OSReachedAnnotation, hashOf(imageB)),
				HaveKeyWithValue(clusterv1.TemplateClonedFromNameAnnotation, "t"), Not(HaveKey(clusterv1.UpdateInProgressAnnotation))))
		}
	})

	It("gives no Machine an OS that the template has not any more, which the cache has not heard of", func() {
		w.patch(imageB)
		healthy := w.reconciler.Client
		w.reconciler.Client = laggingTemplate{healthy, apiserver.Get(ctx, c, w.template).DeepCopy()}
		w.patch(imageC)
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(ContainSubstring("ElementalMachineTemplate t was changed")))
		Expect(w.attempts()).To(BeEmpty())
		Expect(w.rollouts()).To(BeEmpty())
		Expect(w.elemental("cp").Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageA)))

		w.reconciler.Client = healthy
		w.reconcile()
		Expect(w.attempts()).To(HaveEach(HaveField("Spec.ImageURI", imageC)))
	})

	It("makes one attempt although it is killed before it is created, or after it", func() {
		w.patch(imageB)
		healthy := w.reconciler.Client
		w.reconciler.Client = refusesAttempts{healthy}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(errRefused))
		Expect(w.elemental("cp").Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageB)))
		Expect(w.attempts()).To(BeEmpty())
		w.reconciler.Client = healthy
		w.reconcile()
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(2))
	})

	It("goes on in the next pass where another client has written to a Machine at the same moment", func() {
		w.addMachine("cp-2", controlPlaneOf("K3sControlPlane"))
		w.reconcile()
		w.patch(imageB)
		healthy := w.reconciler.Client
		w.reconciler.Client = overtaken{healthy, "cp"}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
		Expect(w.attempts()).To(BeEmpty())

		w.reconciler.Client = healthy
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(3))
	})

	DescribeTable("stops after an attempt that did not end well, until the template is patched or the attempt is deleted", func(end infrav1.UpgradePhase, how, remedy string) {
		w.patch(imageB)
		w.reconcile()
		bad := w.attemptOn("cp")
		w.end(bad, end)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.AttemptNotSucceededReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(And(ContainSubstring("of Machine cp "+how), ContainSubstring("No other Machine of this template in Cluster c is upgraded: "+remedy)))
		Expect(w.onlyRollout().Spec.StoppedBy).To(Equal(bad.Name))

		By("trying it again")
		Expect(c.Delete(ctx, bad)).To(Succeed())
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		Expect(w.onlyRollout().Spec.StoppedBy).To(BeEmpty())
		w.end(w.attemptOn("cp"), end)

		By("another image")
		w.patch(imageC)
		w.reconcile()
		Expect(w.elemental("cp").Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageC)))
		Expect(w.attempts()).To(ContainElement(HaveField("Spec.ImageURI", imageC)))
		Expect(w.rollouts()).To(ContainElement(HaveField("Spec", And(HaveField("Revision", BeEquivalentTo(2)), HaveField("StoppedBy", "")))))
		Expect(w.elemental("alone").Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageB)), "until its attempt has made room")
	},
		Entry(nil, infrav1.UpgradeRolledBack, "ended as RolledBack", "patch the template to another image or, to try this one again, remove its digest"),
		Entry(nil, infrav1.UpgradeFailed, "ended as Failed", "patch the template to another image or, to try again, delete"),
		Entry(nil, infrav1.UpgradeAborted, "ended as Aborted", "to try again, delete"),
	)

	It("goes on without a host that is lost once a person has released it", func() {
		w.patch(imageB)
		w.reconcile()
		lost := w.attemptOn("cp")
		w.end(lost, infrav1.UpgradeHostLost)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.AttemptNotSucceededReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("of Machine cp is HostLost: "))
		Expect(w.onlyRollout().Spec.StoppedBy).To(Equal(lost.Name))
		apiserver.Change(ctx, c, lost, func() { lost.Spec.Release = true })
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		Expect(w.onlyRollout().Spec.StoppedBy).To(BeEmpty())
	})

	It("is stopped by an attempt that has recorded that itself, and whose end is not seen yet", func() {
		w.patch(imageB)
		w.reconcile()
		ends, of := w.attemptOn("cp"), w.onlyRollout()
		apiserver.Change(ctx, c, of, func() { of.Spec.StoppedBy = ends.Name })
		w.reconcile()
		Expect(w.onlyRollout().Spec.StoppedBy).To(Equal(ends.Name))
		w.end(ends, infrav1.UpgradeSuperseded)
		w.reconcile()
		Expect(w.onlyRollout().Spec.StoppedBy).To(BeEmpty())
	})

	It("is not stopped any more by an attempt whose host has reached the OS in another way", func() {
		w.patch(imageB)
		w.reconcile()
		bad := w.attemptOn("cp")
		w.end(bad, infrav1.UpgradeRolledBack)
		w.reconcile()
		Expect(w.onlyRollout().Spec.StoppedBy).To(Equal(bad.Name))
		w.runs("cp", imageB)
		w.reconcile()
		Expect(w.onlyRollout().Spec.StoppedBy).To(BeEmpty())
	})

	It("is not stopped any more by an attempt whose Machine is deleted", func() {
		w.patch(imageB)
		w.reconcile()
		bad := w.attemptOn("cp")
		w.end(bad, infrav1.UpgradeFailed)
		w.reconcile()
		Expect(w.onlyRollout().Spec.StoppedBy).To(Equal(bad.Name))
		Expect(c.Delete(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cp"}})).To(Succeed())
		w.reconcile()
		Expect(w.onlyRollout().Spec.StoppedBy).To(BeEmpty())
	})

	It("makes an attempt for more than an image although the host runs the image", func() {
		apiserver.Change(ctx, c, w.template, func() {
			w.template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: imageA, UpgradeRecovery: ptr.To(true)}}
		})
		w.reconcile()
		Expect(w.attempts()).To(And(HaveLen(2), HaveEach(HaveField("Spec.ImageURI", imageA))))
	})

	It("waits for a host that has not joined, and goes on with the others", func() {
		w.patch(imageB)
		host := apiserver.Get(ctx, c, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "host-cp"}})
		apiserver.Change(ctx, c, host, func() { host.Labels = nil })
		w.reconcile()
		Expect(w.onlyAttempt().Spec.MachineName).To(Equal("alone"))
	})

	It("makes no attempt for a template that is patched back before its host is touched", func() {
		w.patch(imageB)
		w.reconcile()
		superseded := w.attempts()
		w.patch(imageA)
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(2), "the attempts make room first")
		for i := range superseded {
			w.end(&superseded[i], infrav1.UpgradeSuperseded)
		}
		w.reconcile()
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(2), "the hosts run it")
		Expect(w.elemental("cp").Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageA)))
		w.patch(imageB)
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(4), "another rollout of the same image")
	})

	It("makes no attempt on a host that a superseded one has not left yet", func() {
		w.patch(imageB)
		w.reconcile()
		superseded := w.attempts()
		host := apiserver.Get(ctx, c, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "host-cp"}})
		apiserver.Change(ctx, c, host, func() { host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "former"} })
		w.patch(imageA)
		for i := range superseded {
			w.end(&superseded[i], infrav1.UpgradeSuperseded)
		}
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(2))
	})

	It("makes no attempt for more than an image that the host was brought to before, and that was patched back before its host was touched", func() {
		os := func(image string) infrav1.OSVersionManagement {
			return infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: image, UpgradeRecovery: ptr.To(true)}}
		}
		patch := func(image string) {
			apiserver.Change(ctx, c, w.template, func() { w.template.Spec.Template.Spec.OSVersionManagement = os(image) })
			w.reconcile()
		}
		patch(imageB)
		w.succeed(imageB)
		w.reconcile()
		patch(imageC)
		for _, attempt := range w.attempts() {
			if attempt.Spec.ImageURI == imageC {
				w.end(&attempt, infrav1.UpgradeSuperseded)
			}
		}
		made := len(w.attempts())
		patch(imageB)
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(made))
	})

	It("says what it waits for, and looks again", func() {
		w.optOut()
		w.patch(imageB)
		Expect(w.reconcileOnce().RequeueAfter).To(BeNumerically("~", 15*time.Second))
	})

	It("has a driver that is known and does not change", func() {
		w.patch(imageB)
		w.reconcile()
		made := w.attemptOn("cp")
		before := made.DeepCopy()
		made.Spec.Driver = infrav1.DriverClusterAPI
		Expect(c.Patch(ctx, made, client.MergeFrom(before))).To(MatchError(ContainSubstring("the attempt's driver is immutable")))
		other := before.DeepCopy()
		other.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "by-hand"}
		other.Spec.Driver = "Auto"
		Expect(c.Create(ctx, other)).To(MatchError(ContainSubstring("spec.driver")))
	})

	It("does not begin with what it finds, nor with a host that has left its OS", func() {
		late := w.addMachine("late", controlPlaneOf("K3sControlPlane"))
		apiserver.Change(ctx, c, late, func() { late.Spec.OSVersionManagement = osversion.OfImage(imageC) })
		w.reconcile()
		w.runs("cp", imageC)
		w.reconcile()
		Expect(w.attempts()).To(BeEmpty())
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.MachinesNotUpToDateReason)
	})

	It("writes nothing to the Machines of a Cluster that is paused, and is moved perhaps", func() {
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(true) })
		w.addMachine("late", controlPlaneOf("K3sControlPlane"))
		w.reconcile()
		Expect(w.elemental("late").Annotations).NotTo(HaveKey(infrav1.NotedOSAnnotation))
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = nil })
		w.reconcile()
		Expect(w.elemental("late").Annotations).To(HaveKey(infrav1.NotedOSAnnotation))
	})

	DescribeTable("says what it waits for, and begins nothing", func(change func(), reason, message string) {
		change()
		w.patch(imageB)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, reason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring(message))
		Expect(w.attempts()).To(BeEmpty())
		Expect(w.elemental("cp").Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageA)))
	},
		Entry("a namespace that has not opted in", func() { w.optOut() }, infrav1.NamespaceNotOptedInReason, "has not opted in"),
		Entry("a Cluster that is paused", func() { apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(true) }) }, infrav1.WaitingForClusterReason, "Cluster c is paused"),
		Entry("a template of a topology", func() {
			apiserver.Change(ctx, c, w.template, func() { w.template.Labels = map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""} })
		}, infrav1.ManagedByTopologyReason, "belongs to the topology of Cluster c"),
	)

	It("leaves a Machine alone whose ElementalMachine is paused", func() {
		paused := w.elemental("cp")
		apiserver.Change(ctx, c, paused, func() { annotations.AddAnnotations(paused, map[string]string{clusterv1.PausedAnnotation: ""}) })
		w.patch(imageB)
		w.reconcile()
		Expect(w.onlyAttempt().Spec.MachineName).To(Equal("alone"))
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("Machine cp is not upgraded: its ElementalMachine is paused: remove its annotation"))
		Expect(w.elemental("cp")).To(Equal(paused), "nothing is written to it")
	})

	It("remains stopped after an attempt whose host has not reported yet, as after a move", func() {
		w.patch(imageB)
		w.reconcile()
		w.end(w.attemptOn("cp"), infrav1.UpgradeAborted)
		host := apiserver.Get(ctx, c, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "host-cp"}})
		apiserver.ChangeStatus(ctx, c, host, func() { host.Status = infrav1.ElementalHostStatus{} })
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(2))
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.AttemptNotSucceededReason)
	})

	It("starts nothing on a host that is made a node with an OS that is more than its image", func() {
		os := infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: imageB, UpgradeRecovery: ptr.To(true)}}
		late := w.addMachine("late", nil)
		w.reconcile()
		host := apiserver.Get(ctx, c, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "host-late"}})
		apiserver.Change(ctx, c, host, func() { host.Labels = nil })
		apiserver.Change(ctx, c, late, func() { late.Spec.OSVersionManagement = os })
		apiserver.Change(ctx, c, w.template, func() { w.template.Spec.Template.Spec.OSVersionManagement = os })
		w.reconcile()
		Expect(w.noted("late")).To(Equal([]string{"t", osversion.Stored(osversion.Hash(os))}))
		Expect(w.attempts()).To(ConsistOf(HaveField("Spec.MachineName", "cp"), HaveField("Spec.MachineName", "alone")))
	})

	Describe("of a KubeadmControlPlane", func() {
		var kcp *controlplanev1.KubeadmControlPlane
		BeforeEach(func() {
			kcp = ownertest.KubeadmControlPlane(w.namespace, "kcp", "c", "t")
			plane.Create(ctx, kcp)
			of := *metav1.NewControllerRef(kcp, controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"))
			w.addMachine("kcp-1", &of)
			w.reconcile()
		})

		It("leaves its reference alone, whatever the gates, its strategy and its size", func() {
			w.patch(imageB)
			w.reconcile()
			Expect(w.attempts()).To(ContainElement(HaveField("Spec.MachineName", "kcp-1")))
			Expect(apiserver.Get(ctx, c, kcp).Spec.MachineTemplate.Spec.InfrastructureRef.Name).To(Equal("t"))
			w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		})

		It("leaves a Machine that Cluster API is updating to it", func() {
			of := *metav1.NewControllerRef(kcp, controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"))
			updated := w.addMachine("kcp-2", &of)
			apiserver.Change(ctx, c, updated, func() { updated.Annotations[clusterv1.UpdateInProgressAnnotation] = "" })
			w.reconcile()
			Expect(w.elemental("kcp-2").Annotations).NotTo(HaveKey(infrav1.NotedTemplateAnnotation))
		})
	})
})
