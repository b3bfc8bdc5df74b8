// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("The stages of an ElementalClusterUpgrade", func() {
	var w *world

	BeforeEach(func() { w = newWorld() })

	It("change all templates, let the nodes of one after the other start, and end when all run the OS", func() {
		w.begin()
		Expect([]string{w.image("a"), w.image("b")}).To(HaveEach(imageB))
		Expect(w.hold("a")).To(BeEmpty())
		Expect(w.hold("b")).To(Equal(infrav1.HoldNotInStage), "its stage has not come")
		Expect(w.upgrade.Status).To(And(
			HaveField("Phase", infrav1.ClusterUpgradeProgressing), HaveField("Stage", "a (3/5)"), HaveField("ImageURI", imageB),
			HaveField("Nodes", HaveValue(BeEquivalentTo(2))), HaveField("NodesDone", HaveValue(BeEquivalentTo(0))),
			HaveField("Message", "waiting for an ElementalHostUpgrade of Machine a")))

		attempt := w.attempt("a", infrav1.UpgradeProgressing, false)
		Expect(w.settle().Message).To(Equal("node node-a: says something"))
		w.brings(attempt, infrav1.UpgradeProgressing, true)
		slots := func(slots ...infrav1.UpgradeSlot) {
			apiserver.ChangeStatus(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(cluster *infrav1.ElementalCluster) { cluster.Status.UpgradeSlots = slots })
		}
		slots(infrav1.UpgradeSlot{Attempt: attempts.ID(attempt), Upgrade: attempt.Name})
		Expect(w.settle().Message).To(Equal("node node-a is at Cordon (5/14)"))
		slots()
		Expect(w.settle().Message).To(Equal("node node-a: says something"), "what keeps it from its end")

		By("running the OS, while the attempt has not ended")
		w.runs("a", imageB)
		Expect(w.settle().Stage).To(Equal("a (3/5)"))
		w.brings(attempt, infrav1.UpgradeSucceeded, true)
		Expect(w.settle().Stage).To(Equal("b (4/5)"))
		Expect(w.hold("b")).To(BeEmpty())

		w.runs("b", imageB)
		Expect(w.settle()).To(And(
			HaveField("Phase", infrav1.ClusterUpgradeSucceeded), HaveField("Stage", ""), HaveField("Message", "2 nodes run "+imageB),
			HaveField("CompletionTime", Not(BeNil())), HaveField("Stages", HaveEach(HaveField("CompletionTime", Not(BeNil()))))))

		By("changing a template afterwards")
		w.patch("a", imageC)
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeSucceeded))
		Expect(w.image("a")).To(Equal(imageC), "one that has ended changes nothing")

		By(`losing its status, as "clusterctl move" does`)
		apiserver.ChangeStatus(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Status = infrav1.ElementalClusterUpgradeStatus{} })
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeSucceeded))
		Expect(w.image("a")).To(Equal(imageC))
	})

	It("wait for the soak of the one before", func() {
		w.begin(func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Order = []infrav1.PoolStage{{Pools: []string{"b"}, SoakSeconds: ptr.To[int32](60)}, {Pools: []string{"a"}}}
		})
		w.runs("b", imageB)
		Expect(w.settle().Message).To(Equal("stage b is done, and it soaks until 2026-11-26T12:01:00Z"))
		Expect(w.hold("a")).To(Equal(infrav1.HoldSoaking))
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		Expect(w.settle().Stage).To(Equal("a (4/5)"))
		Expect(w.hold("a")).To(BeEmpty())
	})

	It("do not begin with an order that names what the Cluster does not have", func() {
		w.begin(func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Order = []infrav1.PoolStage{{Pools: []string{"a", "z"}}}
		})
		Expect(w.upgrade.Status).To(And(HaveField("Stage", "Preflight (1/4)"),
			HaveField("Message", "spec.order names z, and Cluster c has Machines in the pools a, b: set spec.cancel, and create another ElementalClusterUpgrade")))
		Expect(w.image("a")).To(Equal(imageA))
	})

	It("do not begin where a MachineDeployment has the name of the control plane's pool", func() {
		w.addPool(clusterupgrade.ControlPlanePool)
		w.begin()
		Expect(w.upgrade.Status).To(And(HaveField("Stage", HavePrefix("Preflight")), HaveField("Message", "Machine control-plane is of a MachineDeployment called control-plane, "+
			"which spec.order cannot tell from the control plane: set spec.cancel, and change the ElementalMachineTemplates yourself")))
		Expect(w.image("a")).To(Equal(imageA))
	})

	It("report a template that somebody has changed, and do not change it again", func() {
		w.begin()
		w.patch("a", imageA)
		Expect(w.settle().Message).To(Equal("another party has changed osVersionManagement of ElementalMachineTemplate a, and it is not changed again: " +
			"set its image to " + imageB + ", or set spec.cancel of the ElementalClusterUpgrade"))
		Expect(w.image("a")).To(Equal(imageA))
		w.patch("a", imageB)
		Expect(w.settle().Message).To(Equal("waiting for an ElementalHostUpgrade of Machine a"))
	})

	It("say that a Machine has no host, for which there is no ElementalHostUpgrade", func() {
		w.begin()
		apiserver.Change(ctx, c, w.elemental("a"), func(m *infrav1.ElementalMachine) { m.Spec.HostRef = nil })
		Expect(w.settle().Message).To(Equal("Machine a has no host yet: register one for it, or scale its pool down"))
	})

	It("keep what a template says besides the image", func() {
		apiserver.Change(ctx, c, w.template("a"), func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement.OSVersion = &infrav1.OSVersion{
				ImageURIOfOperator: imageA, Debug: ptr.To(true), UpgradeRecovery: ptr.To(true),
			}
		})
		w.begin(func(u *infrav1.ElementalClusterUpgrade) { u.Spec.OSVersion.UpgradeRecovery = ptr.To(false) })
		Expect(w.template("a").Spec.Template.Spec.OSVersionManagement.OSVersion).To(
			Equal(&infrav1.OSVersion{ImageURIOfOperator: imageB, Debug: ptr.To(true), UpgradeRecovery: ptr.To(false)}))
	})

	It("stop at a node that was not upgraded, and go on when it is tried again", func() {
		w.begin()
		attempt := w.attempt("a", infrav1.UpgradeFailed, false)
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeFailed), HaveField("Message",
			"node node-a was not upgraded: ElementalHostUpgrade upgrade-a is Failed: says something. Fix that and delete it to try again, or set spec.cancel of the ElementalClusterUpgrade")))
		Expect(c.Delete(ctx, attempt)).To(Succeed())
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeProgressing))
	})

	It("go on without a node whose host is lost, once its attempt is released", func() {
		w.begin()
		attempt := w.attempt("a", infrav1.UpgradeHostLost, true)
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeFailed), HaveField("Message", ContainSubstring("or set spec.release of the ElementalHostUpgrade"))))
		apiserver.Change(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Release = true })
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeProgressing), HaveField("Stage", HavePrefix("b ")),
			HaveField("Stages", ContainElement(And(HaveField("Name", "a"),
				HaveField("Message", "without node node-a: its host is lost, and spec.release of its ElementalHostUpgrade is set"))))))
	})

	It("say that they are paused by an annotation", func() {
		w.begin()
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) {
			annotations.AddAnnotations(u, map[string]string{clusterv1.PausedAnnotation: ""})
		})
		Expect(w.settle().Message).To(Equal("paused: remove annotation cluster.x-k8s.io/paused of the ElementalClusterUpgrade to go on"))
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { delete(u.Annotations, clusterv1.PausedAnnotation) })
		Expect(w.settle().Message).To(Equal("waiting for an ElementalHostUpgrade of Machine a"))
	})

	It("make way for a newer one", func() {
		w.begin()
		newer := &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("zz"), Spec: *w.upgrade.Spec.DeepCopy()}
		plane.Create(ctx, newer)
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeSuperseded), HaveField("Message", "ElementalClusterUpgrade zz was created after it")))
	})

	It("make way for another one that is for another OS, when what they have begun is held", func() {
		w.begin()
		newer := &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("zz"), Spec: *w.upgrade.Spec.DeepCopy()}
		newer.Spec.OSVersion.ImageURI = imageC
		plane.Create(ctx, newer)
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelling), HaveField("Message", HavePrefix(
			"ElementalClusterUpgrade zz takes its place; waiting until ElementalMachineTemplate a is rolled out, to hold its nodes"))))
		of := w.rollsOut("a")
		w.rollsOut("b")
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeSuperseded))
		Expect(isHeldBy(of)).To(Equal("edge"))
	})

	It("do not soak again because a node of an earlier stage is not up to date any more", func() {
		w.begin(func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Order = []infrav1.PoolStage{{Pools: []string{"b"}, SoakSeconds: ptr.To[int32](60)}, {Pools: []string{"a"}}}
		})
		w.runs("b", imageB)
		w.settle()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		soaked := w.settle().Stages[2].CompletionTime
		w.runs("b", imageA)
		Expect(w.settle()).To(And(HaveField("Stage", "b (3/5)"), HaveField("Stages", ContainElement(And(HaveField("Name", "b"), HaveField("CompletionTime", Equal(soaked)))))))
		w.runs("b", imageB)
		Expect(w.settle().Stage).To(Equal("a (4/5)"))
	})

	It("go on with a template that somebody has changed otherwise", func() {
		w.begin(func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = true })
		apiserver.Change(ctx, c, w.template("a"), func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.SkipPreflight = []infrav1.PreflightCheck{"NodeReady"}
		})
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = false })
		w.settle()
		Expect(w.image("a")).To(Equal(imageB))
	})

	It("do not begin with a template of another Cluster", func() {
		stranger := ownertest.ElementalMachine(w.namespace, "stranger", "a", imageA)
		stranger.Labels = map[string]string{clusterv1.ClusterNameLabel: "other"}
		plane.Create(ctx, stranger)
		w.begin()
		Expect(w.upgrade.Status).To(And(HaveField("Stage", "Preflight (1/5)"), HaveField("Message", "ElementalMachineTemplate a is also that of Machines of Cluster other, "+
			"which would be upgraded at once, in no order: give each Cluster a template of its own")))
		Expect(w.image("a")).To(Equal(imageA))
	})

	It("report a node that has left the OS", func() {
		w.begin()
		attempt := w.attempt("a", infrav1.UpgradeSucceeded, true)
		w.runs("a", imageB)
		elemental := w.elemental("a")
		apiserver.ChangeStatus(ctx, c, elemental, func(m *infrav1.ElementalMachine) {
			conditions.Set(m, metav1.Condition{Type: infrav1.OSUpToDateCondition, Status: metav1.ConditionFalse, Reason: "HostRunsOtherOS", ObservedGeneration: m.Generation})
		})
		Expect(w.settle().Message).To(Equal("waiting until Machine a, which was upgraded, is reported to run the OS"), attempt.Name)
		apiserver.ChangeStatus(ctx, c, elemental, func(m *infrav1.ElementalMachine) {
			conditions.Set(m, metav1.Condition{Type: infrav1.OSDriftedCondition, Status: metav1.ConditionTrue, Reason: "Drifted", ObservedGeneration: m.Generation})
		})
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeFailed), HaveField("Message", "node node-a was upgraded and runs another OS by now: "+
			"see condition OSDrifted of ElementalMachine a. Have it run the OS again, or set spec.cancel of the ElementalClusterUpgrade")))
	})

	It("change nothing while they are paused", func() {
		w.begin(func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = true })
		Expect(w.upgrade.Status).To(And(HaveField("Stage", "Prefetch (2/5)"), HaveField("Message", "paused: set spec.paused to false to go on")))
		Expect(w.image("a")).To(Equal(imageA))
	})

	It("wait for a Cluster that does not exist", func() {
		w.begin(func(u *infrav1.ElementalClusterUpgrade) { u.Spec.ClusterName = "z" })
		Expect(w.upgrade.Status).To(And(HaveField("Phase", infrav1.ClusterUpgradePending), HaveField("Message", "Cluster z does not exist")))
		Expect(w.upgrade.Finalizers).To(BeEmpty())
	})
})

var _ = Describe("Cancelling an ElementalClusterUpgrade", func() {
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.begin()
	})

	It("waits until the nodes in work are finished, and holds what is rolled out", func() {
		of := w.rollsOut("a")
		w.rollsOut("b")
		attempt := w.attempt("a", infrav1.UpgradeProgressing, true)
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelling), HaveField("Message", "cancelled; being finished: node-a")))
		Expect(isHeldBy(of)).To(BeEmpty())

		w.brings(attempt, infrav1.UpgradeRolledBack, true)
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelled),
			HaveField("Message", "0 of 2 nodes run "+imageB+"; the others are held until their templates are changed, or another ElementalClusterUpgrade is created")))
		Expect(isHeldBy(of)).To(Equal("edge"))
		Expect([]string{w.image("a"), w.image("b")}).To(HaveEach(imageB), "templates are left as they are")

		By("creating another one, which takes the nodes and releases what was held")
		w.upgrade = &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("again"), Spec: infrav1.ElementalClusterUpgradeSpec{
			ClusterName: "c", OSVersion: infrav1.ClusterOSVersion{ImageURI: imageB},
		}}
		plane.Create(ctx, w.upgrade)
		Expect(c.Delete(ctx, attempt)).To(Succeed())
		w.settle()
		w.runs("a", imageB)
		w.settle()
		w.runs("b", imageB)
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeSucceeded))
		Expect(isHeldBy(of)).To(BeEmpty())
	})

	It("holds the former rollouts to its OS whose attempts go on, too, and none that is completed", func() {
		former := ownertest.Rollout(w.template("a"), "c")
		former.Name, former.Spec.Revision = "former", 1
		completed := ownertest.Rollout(w.template("a"), "c")
		completed.Name, completed.Spec.Revision, completed.Spec.Completed = "completed", 2, true
		plane.Create(ctx, former, completed)
		w.rollsOut("b")
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeCancelled))
		Expect([]string{isHeldBy(former), isHeldBy(completed)}).To(Equal([]string{"edge", ""}))
	})

	It("waits for a template to be rolled out, without which nothing could be held", func() {
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelling), HaveField("Message",
			"cancelled; waiting until ElementalMachineTemplate a is rolled out, to hold its nodes: see its conditions, or put its former image back")))
		of := w.rollsOut("a")
		w.rollsOut("b")
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeCancelled))
		Expect(isHeldBy(of)).To(Equal("edge"))
	})

	It("puts the templates back with Revert", func() {
		of := w.rollsOut("a")
		w.rollsOut("b")
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel, u.Spec.OnCancel = true, infrav1.CancelRevert })
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelled), HaveField("Message", "the templates have their former OS again; nodes that were upgraded are now upgraded back: see their ElementalHostUpgrades")))
		Expect(w.image("a")).To(Equal(imageA))
		Expect(isHeldBy(of)).To(Equal("edge"), "which is rolled out until the former OS is")
	})

	It("says with Revert that it has changed nothing, where the templates had its OS before", func() {
		Expect(c.Delete(ctx, w.upgrade)).To(Succeed())
		w.rollsOut("a")
		w.rollsOut("b")
		w.settle()
		w.begin(func(u *infrav1.ElementalClusterUpgrade) { u.Name = "again" })
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel, u.Spec.OnCancel = true, infrav1.CancelRevert })
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelled), HaveField("Message", HavePrefix(
			"nothing was put back: the upgrade has changed no template. Those that have oci:registry/os:b were changed before"))))
		Expect(w.image("a")).To(Equal(imageB))
	})

	It("waits for the ElementalCluster, without which it cannot hold what it has begun", func() {
		w.rollsOut("a")
		w.rollsOut("b")
		elemental := apiserver.Get(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")})
		Expect(c.Delete(ctx, elemental)).To(Succeed())
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelling),
			HaveField("Message", HavePrefix("cancelled; nodes that have not started cannot be held: "))))
		elemental.ResourceVersion, elemental.UID = "", ""
		plane.Create(ctx, elemental)
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeCancelled))
	})

	It("is what deleting it does, with Hold", func() {
		of := w.rollsOut("a")
		w.rollsOut("b")
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.OnCancel = infrav1.CancelRevert })
		Expect(c.Delete(ctx, w.upgrade)).To(Succeed())
		w.settle()
		Expect(client.IgnoreNotFound(c.Get(ctx, client.ObjectKeyFromObject(w.upgrade), w.upgrade))).To(Succeed())
		Expect(isHeldBy(of)).To(Equal("edge"))
		Expect(w.image("a")).To(Equal(imageB))
	})

	It("ends one that could not begin", func() {
		w.upgrade = &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("nowhere"), Spec: infrav1.ElementalClusterUpgradeSpec{
			ClusterName: "z", OSVersion: infrav1.ClusterOSVersion{ImageURI: imageB},
		}}
		plane.Create(ctx, w.upgrade)
		Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradePending))
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelled), HaveField("Message", "Cluster z does not exist")))
	})

	It("cannot be taken back", func() {
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		w.upgrade.Spec.Cancel = false
		Expect(c.Update(ctx, w.upgrade)).To(MatchError(ContainSubstring("a cancelled upgrade does not go on")))
	})

	It("does not hold back the deletion of the Cluster", func() {
		w.cluster.Finalizers = []string{"example.com/kept"}
		Expect(c.Update(ctx, w.cluster)).To(Succeed())
		Expect(c.Delete(ctx, w.cluster)).To(Succeed())
		Expect(c.Delete(ctx, w.upgrade)).To(Succeed())
		w.settle()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(w.upgrade), w.upgrade)).To(MatchError(ContainSubstring("not found")))
	})
})

var _ = Describe("An ElementalClusterUpgrade", func() {
	DescribeTable("is refused", func(change func(*infrav1.ElementalClusterUpgrade), expected string) {
		upgrade := &infrav1.ElementalClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "refused-"}}
		upgrade.Spec.ClusterName, upgrade.Spec.OSVersion.ImageURI = "c", imageB
		change(upgrade)
		Expect(c.Create(ctx, upgrade)).To(MatchError(ContainSubstring(expected)))
	},
		Entry("without an OS", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.OSVersion.ImageURI = "" }, "set either imageURI or managedOSVersionName"),
		Entry("with two", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.OSVersion.ManagedOSVersionName = "m" }, "set either imageURI or managedOSVersionName"),
		Entry("without a Cluster", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.ClusterName = "" }, "spec.clusterName"),
		Entry("with a stage without pools", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Order = []infrav1.PoolStage{{Pools: []string{}}} }, "spec.order[0].pools"),
	)

	DescribeTable("cannot be changed", func(change func(*infrav1.ElementalClusterUpgrade), expected string) {
		w := newWorld()
		w.begin()
		change(w.upgrade)
		Expect(c.Update(ctx, w.upgrade)).To(MatchError(ContainSubstring(expected)))
	},
		Entry("to another OS", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.OSVersion.ImageURI = imageC }, "the OS is immutable"),
		Entry("to another Cluster", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.ClusterName = "d" }, "the Cluster is immutable"),
		Entry("to another order", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Order = []infrav1.PoolStage{{Pools: []string{"a"}}} }, "the order is immutable"),
	)
})
