// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"fmt"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// addOfPool adds a Machine of a MachineSet that was made from a template, with a host that runs its OS.
func (w *world) addOfPool(set *clusterv1.MachineSet, name, template, image string) {
	GinkgoHelper()
	of := ownertest.Machine(set, name)
	of.Labels = maps.Clone(of.Labels)
	of.Labels[clusterv1.ClusterNameLabel] = "c"
	w.addServed(of, template, image)
}

// succeed has all attempts end well, and their hosts run an image.
func (w *world) succeed(image string) {
	GinkgoHelper()
	for _, attempt := range w.attempts() {
		w.end(&attempt, infrav1.UpgradeSucceeded)
		w.runs(attempt.Spec.MachineName, image)
	}
}

func (w *world) noted(name string) []string {
	GinkgoHelper()
	annotations := w.elemental(name).Annotations
	return []string{annotations[infrav1.NotedTemplateAnnotation], annotations[infrav1.NotedOSAnnotation]}
}

// hashOf the OS with an image, as it is noted.
func hashOf(image string) string { return osversion.Stored(osversion.Hash(osversion.OfImage(image))) }

var _ = Describe("A patched template, of a MachineDeployment", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.addOfPool(w.set, "m1", "t", imageA)
		w.addOfPool(w.set, "m2", "t", imageA)
		w.addOfPool(w.set, "m3", "t", imageA)
		w.reconcile()
	})

	ofOwners := func() []any {
		md, set := apiserver.Get(ctx, c, w.md), apiserver.Get(ctx, c, w.set)
		return []any{md.Spec, md.Annotations, set.Spec, set.Annotations}
	}

	It("makes the attempts of all Machines, with no extension, whatever the gates and the strategy, and changes neither it nor its MachineSet", func() {
		apiserver.Change(ctx, c, w.md, func() {
			w.md.Spec.Rollout.Strategy = clusterv1.MachineDeploymentRolloutStrategy{Type: clusterv1.RollingUpdateMachineDeploymentStrategyType, RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{
				MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			}}
		})
		w.atRest()
		before := ofOwners()
		cluster := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}
		apiserver.Change(ctx, c, cluster, func() { cluster.Spec.NodeUpgradeOption.MaxConcurrent = 2 })
		Expect(apiserver.Get(ctx, c, w.template).Status.Owners).To(Equal([]infrav1.TemplateOwner{{Owner: "MachineDeployment md", Driver: infrav1.DriverDirect}}))

		w.patch(imageB)
		w.reconcile()
		Expect(w.attempts()).To(ConsistOf(
			And(HaveField("Spec.MachineName", "m1"), HaveField("Spec.Driver", infrav1.DriverDirect), HaveField("Spec.ImageURI", imageB)),
			HaveField("Spec.MachineName", "m2"), HaveField("Spec.MachineName", "m3")))
		Expect(w.attempts()).To(HaveEach(HaveField("Spec.Options.MaxConcurrent", BeEquivalentTo(2))))
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		w.succeed(imageB)
		w.reconcile()
		for _, name := range []string{"m1", "m2", "m3"} {
			Expect(w.noted(name)).To(Equal([]string{"t", hashOf(imageB)}))
		}
		Expect(ofOwners()).To(Equal(before))
	})

	It("rolls out a change that was made after a Machine was noted, however late it is looked at", func() {
		w.patch(imageB)
		w.addOfPool(w.set, "late", "t", imageA)
		late := w.elemental("late")
		apiserver.Change(ctx, c, late, func() { // as the controller of ElementalMachines notes what it was made with
			late.Annotations[infrav1.NotedTemplateAnnotation], late.Annotations[infrav1.NotedOSAnnotation] = "t", hashOf(imageA)
		})
		w.addOfPool(w.set, "first-seen", "t", imageA)
		w.reconcile()
		Expect(w.attempts()).To(ContainElement(HaveField("Spec.MachineName", "late")))
		Expect(w.attempts()).NotTo(ContainElement(HaveField("Spec.MachineName", "first-seen")))
	})

	It("starts nothing for a hundred Machines whose notes another version of the manager has written, also one that merely differs, and continues a rollout", func() {
		names := []string{}
		for i := range 100 {
			names = append(names, fmt.Sprintf("n%02d", i))
			w.addOfPool(w.set, names[i], "t", imageA)
		}
		formerNotes := func() {
			GinkgoHelper()
			for _, name := range names {
				elemental := w.elemental(name)
				apiserver.Change(ctx, c, elemental, func() {
					annotations.AddAnnotations(elemental, map[string]string{
						infrav1.NotedTemplateAnnotation: "t", infrav1.NotedOSAnnotation: "0:former", infrav1.OSReachedAnnotation: "0:former",
					})
				})
			}
		}
		formerNotes()
		w.reconcile()
		Expect(w.attempts()).To(BeEmpty())
		for _, name := range names {
			Expect(w.noted(name)).To(Equal([]string{"t", hashOf(imageA)}))
		}
		w.haveCondition(infrav1.RolledOutCondition, metav1.ConditionTrue, infrav1.RolledOutReason)

		By("a Machine that is first seen with another OS")
		w.addOfPool(w.set, "moved", "t", imageB)
		w.reconcile()
		names = append(names, "moved")
		formerNotes()
		w.reconcile()
		Expect(w.attempts()).To(BeEmpty())
		Expect(w.noted("moved")).To(Equal([]string{"t", hashOf(imageA)}))

		By("in the middle of a rollout")
		w.patch(imageC)
		w.reconcile()
		rollout := w.onlyRollout().Name
		made := len(w.attempts())
		Expect(made).To(Equal(len(names) + 3))
		for _, name := range names {
			elemental := w.elemental(name)
			apiserver.Change(ctx, c, elemental, func() { elemental.Annotations[infrav1.NotedOSAnnotation] = "0:former" })
		}
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(made))
		Expect(w.noted("n99")).To(Equal([]string{"t", hashOf(imageC)}))
		Expect(w.elemental("n99").Annotations).To(HaveKeyWithValue(infrav1.RolloutAnnotation, rollout))
	})

	It("leaves a Machine without a host to be noted with what it was made with", func() {
		w.addOfPool(w.set, "new", "t", imageA)
		made := w.elemental("new")
		apiserver.Change(ctx, c, made, func() { made.Spec.HostRef = nil })
		w.reconcile()
		Expect(w.noted("new")).To(Equal([]string{"", ""}))
	})

	It("takes a Machine over that its owner has brought to another template, once its host runs that", func() {
		w.patch(imageB)
		w.reconcile()
		w.succeed(imageB)
		w.reconcile()
		made := len(w.attempts())
		next := ownertest.Template(w.namespace, "next", imageC)
		plane.Create(ctx, next)
		elemental := w.elemental("m1")
		apiserver.Change(ctx, c, elemental, func() {
			elemental.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "next"
			elemental.Annotations[infrav1.OSReachedAnnotation] = hashOf(imageB)
			elemental.Spec.OSVersionManagement = osversion.OfImage(imageC)
		})
		w.template = next
		w.reconcile()
		Expect(w.noted("m1")).To(Equal([]string{"t", hashOf(imageB)}), "all marks of the update may be lost, and are restored")

		By("an attempt of Cluster API's hook that has fallen back, after its host had booted the OS")
		elemental = w.elemental("m1")
		apiserver.Change(ctx, c, elemental, func() { elemental.Annotations[infrav1.OSReachedAnnotation] = hashOf(imageC) })
		attempt := w.attempts()[0].DeepCopy()
		attempt.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "by-the-hook"}
		attempt.Spec.Driver, attempt.Spec.MachineName, attempt.Spec.ElementalMachineName = infrav1.DriverClusterAPI, "m1", "m1"
		attempt.Spec.TemplateName, attempt.Spec.ImageURI, attempt.Spec.OSVersionManagement = "next", imageC, osversion.OfImage(imageC)
		plane.Create(ctx, attempt)
		w.end(attempt, infrav1.UpgradeRolledBack)
		w.reconcile()
		Expect(w.noted("m1")).To(Equal([]string{"t", hashOf(imageB)}))

		w.end(attempt, infrav1.UpgradeSucceeded)
		w.reconcile()
		Expect(w.noted("m1")).To(Equal([]string{"next", hashOf(imageC)}))
		Expect(w.attempts()).To(HaveLen(made + 1))
	})

	It("takes a Machine over that its owner has brought to another template with the same OS, and starts nothing", func() {
		next := ownertest.Template(w.namespace, "next", imageA)
		plane.Create(ctx, next)
		elemental := w.elemental("m1")
		apiserver.Change(ctx, c, elemental, func() {
			elemental.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "next"
			elemental.Annotations[infrav1.OSReachedAnnotation] = hashOf(imageA)
		})
		w.template = next
		w.reconcile()
		Expect(w.noted("m1")).To(Equal([]string{"next", hashOf(imageA)}))
		Expect(w.rollouts()).To(BeEmpty())
		Expect(w.attempts()).To(BeEmpty())
	})

	It("rolls out the first image of a template that had none", func() {
		apiserver.Change(ctx, c, w.template, func() { w.template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{} })
		w.addOfPool(w.set, "without", "t", imageA)
		w.reconcile()
		Expect(w.noted("without")).To(Equal([]string{"t", ""}))
		Expect(w.attempts()).To(BeEmpty())
		w.patch(imageB)
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(4))
	})

	It("brings a Machine that is made during a rollout to nothing that it has already", func() {
		w.patch(imageB)
		w.addOfPool(w.set, "new", "t", imageB)
		w.reconcile()
		Expect(w.noted("new")).To(Equal([]string{"t", hashOf(imageB)}))
		Expect(w.attempts()).To(ConsistOf(HaveField("Spec.MachineName", "m1"), HaveField("Spec.MachineName", "m2"), HaveField("Spec.MachineName", "m3")))
	})

	It("upgrades the Machines of one that replaces only what a user deletes, whatever else it wants of them", func() {
		apiserver.Change(ctx, c, w.md, func() {
			w.md.Spec.Rollout.Strategy = clusterv1.MachineDeploymentRolloutStrategy{Type: clusterv1.OnDeleteMachineDeploymentStrategyType}
			w.md.Spec.Template.Spec.Version = "v1.99.0"
		})
		w.patch(imageB)
		w.reconcile()
		Expect(w.attempts()).To(HaveLen(3))
	})

	It("stops after a bad end", func() {
		w.patch(imageB)
		w.reconcile()
		bad := w.attempts()[0]
		w.end(&bad, infrav1.UpgradeRolledBack)
		w.addOfPool(w.set, "m4", "t", imageA)
		w.reconcile()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.AttemptNotSucceededReason)
		Expect(w.attempts()).To(HaveLen(3))
		Expect(w.onlyRollout().Spec.StoppedBy).To(Equal(bad.Name))
	})
})

var _ = It("A patched template upgrades the Machines of a MachineSet without a MachineDeployment", func() {
	w := newWorld()
	Expect(c.Delete(ctx, w.md)).To(Succeed())
	w.set.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "own", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
	plane.Create(ctx, w.set)
	w.addOfPool(w.set, "s1", "t", imageA)
	w.reconcile()
	w.patch(imageB)
	w.reconcile()
	Expect(w.onlyAttempt().Spec).To(And(HaveField("MachineName", "s1"), HaveField("Driver", infrav1.DriverDirect)))
	Expect(c.Get(ctx, client.ObjectKeyFromObject(w.set), w.set)).To(Succeed())
	Expect(w.set.Spec.Template.Spec.InfrastructureRef.Name).To(Equal("t"))
})

var _ = Describe("A patched template, of Machines of several owners", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.addOfPool(w.set, "m1", "t", imageA)
		w.addOfPool(w.set, "m2", "t", imageA)
		cluster := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}
		apiserver.Change(ctx, c, cluster, func() { cluster.Spec.NodeUpgradeOption.MaxConcurrent = 1 })
		w.reconcile()
	})

	It("starts nothing for a Machine whose MachineSet refers to another template by now", func() {
		next := ownertest.Template(w.namespace, "next", imageC)
		plane.Create(ctx, next)
		own := w.set.DeepCopy()
		own.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "own", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
		plane.Create(ctx, own)
		w.addOfPool(own, "a1", "t", imageA)
		w.reconcile()
		apiserver.Change(ctx, c, own, func() { own.Spec.Template.Spec.InfrastructureRef.Name = "next" })
		w.patch(imageB)
		w.reconcile()
		Expect(w.attempts()).To(ConsistOf(HaveField("Spec.MachineName", "m1"), HaveField("Spec.MachineName", "m2")))
		Expect(w.elemental("a1").Spec.OSVersionManagement).To(Equal(osversion.OfImage(imageA)))
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("its owner wants the OS of ElementalMachineTemplate next"))
	})

	It("starts nothing for a Machine on which a former version has noted a part", func() {
		own := w.set.DeepCopy()
		own.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "own", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
		plane.Create(ctx, own)
		w.addOfPool(own, "a1", "t", imageA)
		elemental := w.elemental("a1")
		apiserver.Change(ctx, c, elemental, func() { elemental.Annotations[infrav1.NotedOSAnnotation] = hashOf(imageC) })
		w.reconcile()
		Expect(w.noted("a1")).To(Equal([]string{"t", hashOf(imageA)}))
		Expect(w.attempts()).To(BeEmpty())
	})
})
