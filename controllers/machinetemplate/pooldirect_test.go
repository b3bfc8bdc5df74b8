// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
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
	return []string{annotations[infrav1.DirectTemplateAnnotation], annotations[infrav1.DirectOSAnnotation]}
}

func hashOf(image string) string { return osversion.Hash(ownertest.OS(image)) }

var _ = Describe("Driver Direct, for a MachineDeployment", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.setDriver(infrav1.DriverDirect)
		w.addOfPool(w.set, "m1", "t", imageA)
		w.addOfPool(w.set, "m2", "t", imageA)
		w.addOfPool(w.set, "m3", "t", imageA)
		w.reconcileTemplate()
	})

	ofOwners := func() []any {
		md, set := apiserver.Get(ctx, c, w.md), apiserver.Get(ctx, c, w.set)
		return []any{md.Spec, md.Annotations, set.Spec, set.Annotations}
	}

	It("upgrades as many Machines at a time as may be, with no extension, whatever the gates and the strategy, and changes neither it nor its MachineSet", func() {
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
		w.reconcileTemplate()
		Expect(w.attempts()).To(ConsistOf(
			And(HaveField("Spec.MachineName", "m1"), HaveField("Spec.Driver", infrav1.DriverDirect), HaveField("Spec.ImageURI", imageB)),
			HaveField("Spec.MachineName", "m2")))
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionFalse, infrav1.NotBlockedReason)
		w.succeed(imageB)
		w.reconcileTemplate()
		Expect(w.attempts()).To(HaveLen(3))
		w.succeed(imageB)
		w.reconcileTemplate()
		for _, name := range []string{"m1", "m2", "m3"} {
			Expect(w.noted(name)).To(Equal([]string{"t", hashOf(imageB)}))
		}
		Expect(w.clones()).To(BeEmpty(), "the clone is not used any more")
		Expect(ofOwners()).To(Equal(before))
	})

	It("starts nothing by the choice of the driver, and does not forget a change that nothing has rolled out", func() {
		Expect(w.attempts()).To(BeEmpty())
		w.setDriver(infrav1.DriverClusterAPI)
		w.reconcileTemplate()
		Expect(w.noted("m1")[0]).To(BeEmpty(), "it is left to Cluster API")
		w.patch(imageB)
		w.reconcileTemplate()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.ExtensionNotReadyReason)
		w.setDriver(infrav1.DriverDirect)
		w.reconcileTemplate()
		Expect(w.attempts()).To(HaveLen(3))
	})

	It("rolls out a change that was not, to Machines that it has never looked at", func() {
		w = newWorld()
		w.addOfPool(w.set, "n1", "t", imageA)
		w.reconcileTemplate()
		w.patch(imageB)
		w.reconcileTemplate()
		Expect(w.noted("n1")).To(Equal([]string{"", ""}), "Cluster API rolls it out, in whose way something is")
		w.setDriver(infrav1.DriverDirect)
		w.reconcileTemplate()
		Expect(w.onlyAttempt().Spec.MachineName).To(Equal("n1"))
	})

	It("leaves a rollout to Cluster API that has begun, and goes on with the next", func() {
		allowInPlaceUpdates()
		apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Replicas = ptr.To[int32](3) })
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Replicas = ptr.To[int32](3) })
		ownertest.Observe(ctx, c, w.md, 3)
		ownertest.Observe(ctx, c, w.set, 3)
		w.setDriver(infrav1.DriverClusterAPI)
		w.reconcile()
		w.patch(imageB)
		w.reconcile()
		clone := w.refersTo()
		Expect(clone).NotTo(Equal("t"))
		w.setDriver(infrav1.DriverDirect)
		w.reconcileTemplate()
		Expect(w.attempts()).To(BeEmpty())
		Expect(w.template.Status.Owners).To(ContainElement(HaveField("Driver", infrav1.DriverClusterAPI)))

		By("Cluster API moves the Machines")
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Template.Spec.InfrastructureRef.Name = clone })
		for _, name := range []string{"m1", "m2", "m3"} {
			elemental := w.elemental(name)
			apiserver.Change(ctx, c, elemental, func() {
				elemental.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = clone
				elemental.Spec.OSVersionManagement = ownertest.OS(imageB)
			})
			w.runs(name, imageB)
		}
		m := w.elemental("m")
		Expect(c.Delete(ctx, m)).To(Succeed())
		w.reconcileTemplate()
		Expect(w.template.Status.Owners).To(Equal([]infrav1.TemplateOwner{{Owner: "MachineDeployment md", Driver: infrav1.DriverDirect}}))
		Expect(w.attempts()).To(BeEmpty())
		Expect(w.noted("m1")).To(Equal([]string{"t", hashOf(imageB)}))

		w.patch(imageC)
		w.reconcileTemplate()
		Expect(w.attempts()).To(HaveLen(3))
		Expect(w.refersTo()).To(Equal(clone))
	})

	It("takes a Machine over that its owner has brought to another template, once its host runs that", func() {
		w.patch(imageB)
		w.reconcileTemplate()
		w.succeed(imageB)
		w.reconcileTemplate()
		made := len(w.attempts())
		next := ownertest.Template(w.namespace, "next", imageC)
		plane.Create(ctx, next)
		elemental := w.elemental("m1")
		apiserver.Change(ctx, c, elemental, func() {
			elemental.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "next"
			elemental.Annotations[infrav1.OSReachedAnnotation] = hashOf(imageB)
			elemental.Spec.OSVersionManagement = ownertest.OS(imageC)
		})
		w.template = next
		w.reconcileTemplate()
		Expect(w.noted("m1")).To(Equal([]string{"t", hashOf(imageB)}), "all marks of the update may be lost, and are restored")

		elemental = w.elemental("m1")
		apiserver.Change(ctx, c, elemental, func() { elemental.Annotations[infrav1.OSReachedAnnotation] = hashOf(imageC) })
		w.reconcileTemplate()
		Expect(w.noted("m1")).To(Equal([]string{"next", hashOf(imageC)}))
		Expect(w.attempts()).To(HaveLen(made))
	})

	It("brings a Machine that is made during a rollout to nothing that it has already", func() {
		w.patch(imageB)
		w.addOfPool(w.set, "new", "t", imageB)
		w.reconcileTemplate()
		Expect(w.noted("new")).To(Equal([]string{"t", hashOf(imageB)}))
		Expect(w.attempts()).To(ConsistOf(HaveField("Spec.MachineName", "m1"), HaveField("Spec.MachineName", "m2"), HaveField("Spec.MachineName", "m3")))
	})

	It("does not start while its owner rolls out another change", func() {
		apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.Version = "v1.99.0" })
		w.patch(imageB)
		w.reconcileTemplate()
		Expect(w.attempts()).To(BeEmpty())
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.WaitingForMachineReason)
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("MachineDeployment md rolls out another change"))
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Template.Spec.Version = "v1.99.0" })
		w.reconcileTemplate()
		Expect(w.attempts()).To(HaveLen(3))
	})

	It("stops after a bad end", func() {
		w.patch(imageB)
		w.reconcileTemplate()
		bad := w.attempts()[0]
		w.end(&bad, infrav1.UpgradeRolledBack)
		w.addOfPool(w.set, "m4", "t", imageA)
		w.reconcileTemplate()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.AttemptNotSucceededReason)
		Expect(w.attempts()).To(HaveLen(3))
	})
})

var _ = It("Driver Direct upgrades the Machines of a MachineSet without a MachineDeployment by default", func() {
	w := newWorld()
	Expect(c.Delete(ctx, w.md)).To(Succeed())
	w.set.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "own", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
	plane.Create(ctx, w.set)
	w.addOfPool(w.set, "s1", "t", imageA)
	w.reconcileTemplate()
	w.patch(imageB)
	w.reconcileTemplate()
	Expect(w.onlyAttempt().Spec).To(And(HaveField("MachineName", "s1"), HaveField("Driver", infrav1.DriverDirect)))
	Expect(c.Get(ctx, client.ObjectKeyFromObject(w.set), w.set)).To(Succeed())
	Expect(w.set.Spec.Template.Spec.InfrastructureRef.Name).To(Equal("t"))
})

var _ = Describe("Driver Direct and Cluster API take turns with a MachineDeployment", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.setDriver(infrav1.DriverDirect)
		w.addOfPool(w.set, "m1", "t", imageA)
		w.addOfPool(w.set, "m2", "t", imageA)
		cluster := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}
		apiserver.Change(ctx, c, cluster, func() { cluster.Spec.NodeUpgradeOption.MaxConcurrent = 1 })
		w.reconcileTemplate()
	})
	// blocked is what keeps Cluster API from rolling the template out: there is no extension.
	blocked := func() {
		GinkgoHelper()
		w.haveCondition(infrav1.RolloutBlockedCondition, metav1.ConditionTrue, infrav1.ExtensionNotReadyReason)
	}

	It("and a template that is patched back is to be rolled out to what has the other content", func() {
		w.patch(imageB)
		w.reconcileTemplate()
		w.succeed(imageB)
		w.setDriver(infrav1.DriverClusterAPI)
		w.reconcileTemplate()
		blocked()
		w.patch(imageA)
		w.reconcileTemplate()
		blocked()
	})

	It("and what the first has noted says nothing of what the other has rolled out", func() {
		w.patch(imageB)
		w.reconcileTemplate()
		w.succeed(imageB)
		w.reconcileTemplate()
		w.succeed(imageB)
		w.reconcileTemplate()
		made := len(w.attempts())
		w.setDriver(infrav1.DriverClusterAPI)
		w.patch(imageC)
		w.reconcileTemplate()
		clone := ownertest.Template(w.namespace, "t-clone", imageC)
		clone.Labels = map[string]string{infrav1.SourceTemplateLabel: "t"}
		plane.Create(ctx, clone)
		for _, name := range []string{"m1", "m2"} { // as Cluster API, and then the machine controller
			elemental := w.elemental(name)
			apiserver.Change(ctx, c, elemental, func() {
				elemental.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = clone.Name
				elemental.Spec.OSVersionManagement = ownertest.OS(imageC)
				host := ownertest.Host(elemental)
				host.Status.OS = infrav1.HostOS{ImageURI: imageC, BootMode: "active"}
				capiworkaround.RecordReached(elemental, host)
			})
			Expect(w.noted(name)).To(Equal([]string{"", ""}))
			w.runs(name, imageC)
		}
		apiserver.Change(ctx, c, w.md, func() { w.md.Spec.Template.Spec.InfrastructureRef.Name = clone.Name })
		apiserver.Change(ctx, c, w.set, func() { w.set.Spec.Template.Spec.InfrastructureRef.Name = clone.Name })
		w.patch(imageB)
		w.setDriver(infrav1.DriverDirect)
		w.reconcileTemplate()
		Expect(w.attempts()).To(HaveLen(made+1), "the former OS is rolled out again")
	})

	It("and the content counts as rolled out once all Machines are noted, although one cannot be at first", func() {
		w = newWorld()
		w.addOfPool(w.set, "n1", "t", imageA)
		w.addOfPool(w.set, "n2", "t", imageA)
		w.patch(imageB)
		w.setDriver(infrav1.DriverDirect)
		healthy := w.reconciler.Client
		w.reconciler.Client = refusesToNote{healthy, "n2"}
		_, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
		Expect(err).To(MatchError(errRefused))
		w.reconciler.Client = healthy
		w.reconcileTemplate()
		Expect(w.noted("n2")).To(Equal([]string{w.clones()[0].Name, hashOf(imageB)}))
	})

	It("and goes on with the others while a Machine waits, of a MachineDeployment that is paused, too", func() {
		other := ownertest.MachineDeployment(w.namespace, "another", "c", "t", 1)
		plane.Create(ctx, other)
		apiserver.Change(ctx, c, other, func() { other.Spec.Paused = ptr.To(true) })
		set := ownertest.MachineSet(other, "another", "t", 1)
		plane.Create(ctx, set)
		w.addOfPool(set, "a1", "t", imageA)
		w.reconcileTemplate()
		w.patch(imageB)
		w.reconcileTemplate()
		Expect(w.onlyAttempt().Spec.MachineName).To(Equal("m1"))
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("Machine a1 is not upgraded: MachineDeployment another is paused: unset its spec.paused"))
	})

	It("and nothing is started for a Machine whose MachineSet refers to another template by now", func() {
		next := ownertest.Template(w.namespace, "next", imageC)
		plane.Create(ctx, next)
		own := w.set.DeepCopy()
		own.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "own", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
		plane.Create(ctx, own)
		w.addOfPool(own, "a1", "t", imageA)
		w.reconcileTemplate()
		apiserver.Change(ctx, c, own, func() { own.Spec.Template.Spec.InfrastructureRef.Name = "next" })
		w.patch(imageB)
		w.reconcileTemplate()
		Expect(w.onlyAttempt().Spec.MachineName).To(Equal("m1"))
		Expect(w.elemental("a1").Spec.OSVersionManagement).To(Equal(ownertest.OS(imageA)))
		Expect(w.message(infrav1.RolloutBlockedCondition)).To(ContainSubstring("its owner wants the OS of ElementalMachineTemplate next"))
	})

	It("and a Machine of a MachineSet of its own that a former version has noted is not upgraded by that", func() {
		own := w.set.DeepCopy()
		own.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "own", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}
		plane.Create(ctx, own)
		w.addOfPool(own, "a1", "t", imageA)
		elemental := w.elemental("a1")
		apiserver.Change(ctx, c, elemental, func() { elemental.Annotations[infrav1.DirectOSAnnotation] = hashOf(imageC) })
		w.reconcileTemplate()
		Expect(w.noted("a1")).To(Equal([]string{"t", hashOf(imageA)}))
		Expect(w.attempts()).To(BeEmpty())
	})
})

// refusesToNote cannot write an ElementalMachine.
type refusesToNote struct {
	client.Client
	name string
}

func (r refusesToNote) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if _, isMachine := object.(*infrav1.ElementalMachine); isMachine && object.GetName() == r.name {
		return errRefused
	}
	return r.Client.Patch(ctx, object, patch, options...)
}
