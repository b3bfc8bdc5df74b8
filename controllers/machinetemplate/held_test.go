// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("What keeps the OS of a template from all Machines", func() {
	var w *world
	BeforeEach(func() {
		allowInPlaceUpdates()
		w = newWorld()
		w.addOfPool(w.set, "m1", "t", imageA)
		w.reconcile()
	})

	// attempt has an attempt for a template on a node, with holds.
	attempt := func(node, template string, reasons ...infrav1.HoldReason) *infrav1.ElementalHostUpgrade {
		GinkgoHelper()
		made := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "of-" + node}}
		made.Spec = infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c", MachineName: node, ElementalMachineName: node, HostName: "host-" + node, TemplateName: template,
			ImageURI: imageB, OSVersionManagement: osversion.OfImage(imageB),
		}
		plane.Create(ctx, made)
		apiserver.ChangeStatus(ctx, c, made, func() {
			made.Status.Phase, made.Status.NodeName = infrav1.UpgradeProgressing, node
			for _, reason := range reasons {
				hold := infrav1.NewHold(reason, "Node/"+node, "because of "+string(reason))
				hold.Since = metav1.NewTime(time.Now().Add(-time.Minute))
				made.Status.Holds = append(made.Status.Holds, *hold)
			}
		})
		return made
	}
	ended := func(attempt *infrav1.ElementalHostUpgrade, phase infrav1.UpgradePhase, message string) {
		GinkgoHelper()
		apiserver.ChangeStatus(ctx, c, attempt, func() {
			attempt.Status.Phase, attempt.Status.Message, attempt.Status.Holds = phase, message, nil
		})
	}
	messages := func() []string {
		found := []string{}
		for _, hold := range w.template.Status.Holds {
			found = append(found, string(hold.Reason)+": "+hold.Message)
		}
		return found
	}

	It("is that its Cluster is paused, at the first look and in one Event", func() {
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = new(true) })
		w.patch(imageB)
		w.reconcileOnce()
		Expect(messages()).To(Equal([]string{"WaitingForCluster: Cluster c is paused"}))
		held := w.template.Status.Holds[0]
		Expect(held.Who).To(Equal(infrav1.HoldByUser))
		Expect(w.events.Events).To(Receive(And(HavePrefix("Warning"), ContainSubstring(infrav1.EventRolloutBlocked))))
		w.reconcileOnce()
		Expect(w.template.Status.Holds[0].Since).To(Equal(held.Since))
		Expect(w.events.Events).NotTo(Receive())

		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = nil })
		w.reconcile()
		Expect(w.template.Status.Holds).To(BeEmpty())
	})

	It("is that its Cluster was paused half-way, once", func() {
		w.patch(imageB)
		w.reconcile()
		Expect(messages()).To(BeEmpty())
		attempt("node-1", "t", infrav1.HoldClusterPaused)
		apiserver.Change(ctx, c, w.cluster, func() { w.cluster.Spec.Paused = new(true) })
		w.reconcileOnce()
		Expect(messages()).To(Equal([]string{"WaitingForCluster: Cluster c is paused"}))
	})

	It("is that it is paused itself", func() {
		apiserver.Change(ctx, c, w.template, func() { annotations.AddAnnotations(w.template, map[string]string{clusterv1.PausedAnnotation: ""}) })
		w.patch(imageB)
		w.reconcileOnce()
		Expect(messages()).To(Equal([]string{"Paused: ElementalMachineTemplate t is paused: remove its annotation " + clusterv1.PausedAnnotation}))
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionUnknown, clusterv1.PausedReason)
		version := w.template.ResourceVersion
		w.reconcileOnce()
		Expect(w.template.ResourceVersion).To(Equal(version))

		apiserver.Change(ctx, c, w.template, func() { delete(w.template.Annotations, clusterv1.PausedAnnotation) })
		w.reconcile()
		Expect(messages()).To(BeEmpty())
		Expect(w.attempts()).To(HaveLen(1))
	})

	It("is what holds the attempts for it, each reason once", func() {
		w.patch(imageB)
		w.reconcile()
		answers := attempt("node-0", "t", infrav1.HoldHostNotReporting, infrav1.HoldClusterUnreachable)
		apiserver.ChangeStatus(ctx, c, answers, func() {
			for i := range answers.Status.Holds {
				answers.Status.Holds[i].Since = metav1.Now()
			}
		})
		late := attempt("node-2", "t", infrav1.HoldHostNotReporting, infrav1.HoldNoSlot)
		early := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
		apiserver.ChangeStatus(ctx, c, late, func() { late.Status.Holds[0].Since = early })
		attempt("node-1", "t", infrav1.HoldHostNotReporting)
		attempt("node-3", "t", infrav1.HoldPreflightFailed, infrav1.HoldPreflightFailed)
		attempt("node-4", "another", infrav1.HoldImageQuarantined)
		attempt("node-5", "t", infrav1.HoldNoSlot, infrav1.HoldSoaking)
		attempt("node-6", "t", infrav1.HoldClusterUnreachable)
		w.reconcile()
		Expect(messages()).To(Equal([]string{
			"HostNotReporting: Node node-1: because of HostNotReporting (and 1 more)",
			"PreflightFailed: Node node-3: because of PreflightFailed",
			"ClusterUnreachable: Node node-6: because of ClusterUnreachable",
		}))
		Expect(w.template.Status.Holds[0]).To(And(HaveField("Object", "Node/node-1"), HaveField("Since", early)))
	})

	It("is how the last attempt has ended of a Machine that does not run its OS", func() {
		w.patch(imageB)
		w.reconcile()
		bad := attempt("m", "t")
		ended(bad, infrav1.UpgradeRolledBack, "ElementalHost host-m runs its former OS again")
		gone := attempt("gone", "t")
		ended(gone, infrav1.UpgradeFailed, "its Machine is gone")
		w.reconcile()
		Expect(messages()).To(Equal([]string{
			"AttemptNotSucceeded: Node m: the upgrade has ended as RolledBack: ElementalHost host-m runs its former OS again"}))
		Expect(w.template.Status.Holds[0].Object).To(Equal("ElementalHostUpgrade/" + bad.Name))

		ended(bad, infrav1.UpgradeSuperseded, "")
		w.reconcile()
		Expect(messages()).To(BeEmpty())
	})

	It("is said with what could not be read, which is kept as it was", func() {
		w.optOut()
		attempt("node-1", "t", infrav1.HoldPreflightFailed)
		w.patch(imageB)
		w.reconcileOnce()
		Expect(w.template.Status.Holds).To(HaveExactElements(
			HaveField("Reason", BeEquivalentTo(infrav1.NamespaceNotOptedInReason)), HaveField("Reason", infrav1.HoldPreflightFailed)))
		Expect(w.events.Events).To(HaveLen(2), "that of the condition, and that of the hold")
		healthy := w.reconciler.Client
		w.reconciler.Client = unreadable{Client: healthy, kind: &infrav1.ElementalHostUpgrade{}}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(HaveOccurred())
		Expect(apiserver.Get(ctx, c, w.template).Status.Holds).To(HaveLen(2))
	})

	It("is a slot that an attempt for another template does not give back", func() {
		w.patch(imageB)
		w.reconcile()
		attempt("node-1", "t", infrav1.HoldNoSlot)
		stuck := attempt("node-2", "another", infrav1.HoldStepOverdue)
		w.reconcile()
		Expect(messages()).To(BeEmpty(), "it has no slot")
		apiserver.ChangeStatus(ctx, c, stuck, func() { stuck.Status.Steps = []infrav1.UpgradeStepStatus{{Name: "Cordon", StartTime: metav1.Now()}} })
		w.reconcile()
		Expect(messages()).To(Equal([]string{"StepOverdue: Node node-2: because of StepOverdue"}))
	})

	It("is a host that has left its OS", func() {
		w.patch(imageB)
		w.reconcile()
		left := ownertest.ElementalMachine(w.namespace, "left", "t", imageB)
		left.Labels = map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineDeploymentNameLabel: "md"}
		plane.Create(ctx, left)
		apiserver.ChangeStatus(ctx, c, left, func() {
			conditions.Set(left, metav1.Condition{Type: infrav1.OSDriftedCondition, Status: metav1.ConditionTrue, Reason: infrav1.HostFellBackReason, Message: "runs another"})
		})
		w.reconcile()
		Expect(messages()).To(Equal([]string{"OSDrifted: ElementalMachine left: runs another"}))
	})

	It("is that Cluster API updates no Machine to it, once that has lasted", func() {
		now := clocktesting.NewFakePassiveClock(time.Now())
		w.reconciler.Owners.Clock = now
		w.template = ownertest.Template(w.namespace, "next", imageB)
		plane.Create(ctx, w.template)
		apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Name = "next" })
		w.reconcile()
		Expect(messages()).To(BeEmpty())
		now.SetTime(now.Now().Add(5 * time.Minute))
		w.reconcile()
		Expect(messages()).To(HaveExactElements(HavePrefix("MachinesNotUpToDate: MachineDeployment md: no upgrade of a Machine has started for 5 minutes")))
		Expect(w.template.Status.Holds[0].Who).To(Equal(infrav1.HoldByCluster))
		attempt("m1", "next")
		w.reconcile()
		Expect(messages()).To(BeEmpty())
	})

	It("has an estimate by how long upgrades took, unless something is in the way", func() {
		now := clocktesting.NewFakePassiveClock(time.Now())
		w.reconciler.Owners.Clock = now
		w.addOfPool(w.set, "m2", "t", imageA)
		w.addOfPool(w.set, "m3", "t", imageA)
		w.reconcile()
		w.patch(imageB)
		w.reconcile()
		Expect(w.template.Status.EstimatedCompletionTime).To(BeNil(), "none was upgraded yet")
		of := func(machine string) *infrav1.ElementalHostUpgrade {
			for _, attempt := range w.attempts() {
				if attempt.Spec.MachineName == machine {
					return &attempt
				}
			}
			Fail("no attempt on " + machine)
			return nil
		}
		past, end := of("m1"), metav1.Now()
		apiserver.ChangeStatus(ctx, c, past, func() {
			began := metav1.NewTime(end.Add(-4 * time.Minute))
			past.Status.Phase, past.Status.StartTime, past.Status.CompletionTime = infrav1.UpgradeSucceeded, &began, &end
			for _, step := range []string{"Cordon", "Reboot", "Assess"} {
				past.Status.Steps = append(past.Status.Steps, infrav1.UpgradeStepStatus{Name: step, StartTime: began, CompletionTime: &end})
			}
		})
		w.runs("m1", imageB)
		w.reconcile()
		first := w.template.Status.EstimatedCompletionTime
		Expect(first.Time).To(BeTemporally("~", now.Now().Add(4*time.Minute), 2*time.Second), "7 at a time")
		now.SetTime(now.Now().Add(3 * time.Minute))
		w.reconcile()
		Expect(w.template.Status.EstimatedCompletionTime).To(Equal(first))
		now.SetTime(now.Now().Add(3 * time.Minute))
		w.reconcile()
		Expect(w.template.Status.EstimatedCompletionTime.Time).To(BeTemporally("~", now.Now().Add(4*time.Minute), 2*time.Second))
		waiting := of("m2")
		apiserver.ChangeStatus(ctx, c, waiting, func() {
			hold := infrav1.NewHold(infrav1.HoldPreflightFailed, "Node/two", "is wrong")
			hold.Since = metav1.Now()
			waiting.Status.Phase, waiting.Status.Holds = infrav1.UpgradeProgressing, []infrav1.UpgradeHold{*hold}
		})
		w.reconcile()
		Expect(w.template.Status.EstimatedCompletionTime).To(BeNil())
	})
})
