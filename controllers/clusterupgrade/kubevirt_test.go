// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const oldKubeVirt, newKubeVirt = "v1.7.0", "v1.8.4"

// operator plays virt-operator: it says what it has deployed.
type operator struct {
	kubeVirt *kubevirtv1.KubeVirt
	handler  *appsv1.DaemonSet
}

// newOperator has deployed the former version in the namespace of a world.
func newOperator(w *world, change func(*kubevirtv1.KubeVirt)) *operator {
	GinkgoHelper()
	kubeVirt := &kubevirtv1.KubeVirt{ObjectMeta: w.meta("kubevirt")}
	kubeVirt.Spec.ImageTag = oldKubeVirt
	kubeVirt.Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods = []kubevirtv1.WorkloadUpdateMethod{kubevirtv1.WorkloadUpdateMethodLiveMigrate}
	change(kubeVirt)
	labels := map[string]string{"kubevirt.io": "virt-handler"}
	handler := &appsv1.DaemonSet{ObjectMeta: w.meta("virt-handler"), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "virt-handler", Image: "handler"}}},
		},
	}}
	plane.Create(ctx, kubeVirt, handler)
	DeferCleanup(func() { Expect(client.IgnoreNotFound(c.Delete(ctx, kubeVirt))).To(Succeed()) })
	o := &operator{kubeVirt: kubeVirt, handler: handler}
	o.deploys(oldKubeVirt)
	return o
}

// deploys a version, and rolls it out.
func (o *operator) deploys(version string) {
	GinkgoHelper()
	apiserver.ChangeStatus(ctx, c, o.handler, func(d *appsv1.DaemonSet) {
		d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberReady: 2}
	})
	apiserver.ChangeStatus(ctx, c, o.kubeVirt, func(k *kubevirtv1.KubeVirt) {
		k.Status.Phase, k.Status.OperatorVersion, k.Status.ObservedGeneration = kubevirtv1.KubeVirtPhaseDeployed, version, ptr.To(k.Generation)
		k.Status.ObservedKubeVirtVersion, k.Status.TargetKubeVirtVersion = version, version
		k.Status.ObservedDeploymentID, k.Status.TargetDeploymentID = version, version
		k.Status.Conditions = []kubevirtv1.KubeVirtCondition{
			{Type: kubevirtv1.KubeVirtConditionAvailable, Status: corev1.ConditionTrue},
			{Type: kubevirtv1.KubeVirtConditionProgressing, Status: corev1.ConditionFalse},
			{Type: kubevirtv1.KubeVirtConditionDegraded, Status: corev1.ConditionFalse},
		}
	})
}

// isUpgraded to a version by a person.
func (o *operator) isUpgraded(version string) {
	GinkgoHelper()
	apiserver.ChangeStatus(ctx, c, o.kubeVirt, func(k *kubevirtv1.KubeVirt) { k.Status.OperatorVersion = version })
}

func (o *operator) methods() []kubevirtv1.WorkloadUpdateMethod {
	GinkgoHelper()
	return apiserver.Get(ctx, c, o.kubeVirt).Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods
}

func (o *operator) isHeld() bool {
	GinkgoHelper()
	_, isHeld := apiserver.Get(ctx, c, o.kubeVirt).Annotations[infrav1.HeldWorkloadsAnnotation]
	return isHeld
}

// later virt-controller has labelled what is outdated.
func (w *world) later() { w.clock.SetTime(w.clock.Now().Add(2 * time.Minute)) }

// outdated virtual machine instance, which runs a launcher of the former version.
func (w *world) outdated(name string, isMigratable corev1.ConditionStatus) *kubevirtv1.VirtualMachineInstance {
	GinkgoHelper()
	vmi := &kubevirtv1.VirtualMachineInstance{ObjectMeta: w.meta(name)}
	vmi.Labels = map[string]string{kubevirtv1.OutdatedLauncherImageLabel: ""}
	plane.Create(ctx, vmi)
	DeferCleanup(func() { Expect(client.IgnoreNotFound(c.Delete(ctx, vmi))).To(Succeed()) })
	apiserver.Change(ctx, c, vmi, func(v *kubevirtv1.VirtualMachineInstance) {
		v.Status.Phase = kubevirtv1.Running
		v.Status.Conditions = []kubevirtv1.VirtualMachineInstanceCondition{{Type: kubevirtv1.VirtualMachineInstanceIsMigratable, Status: isMigratable}}
	})
	return vmi
}

var _ = Describe("KubeVirt in an ElementalClusterUpgrade", Serial, func() {
	var (
		w  *world
		to *connector
	)
	BeforeEach(func() {
		w, to = newWorld(), &connector{}
		w.reconciler.Workload = to
	})
	with := func(workloads infrav1.KubeVirtWorkloads) func(*infrav1.ElementalClusterUpgrade) {
		return func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.KubeVirt = &infrav1.ClusterKubeVirt{Version: newKubeVirt, Workloads: workloads}
		}
	}
	same := func(*kubevirtv1.KubeVirt) {}
	isAt := func(stage, message string) OmegaMatcher {
		return And(HaveField("Stage", stage), HaveField("Message", HavePrefix(message)))
	}
	upgradeNodes := func() {
		GinkgoHelper()
		w.runs("a", imageB)
		w.settle()
		w.runs("b", imageB)
	}

	It("is upgraded before the nodes, and its workloads after them", func() {
		o := newOperator(w, same)
		w.begin(with(infrav1.WorkloadsAfterNodes))
		Expect(w.settle()).To(isAt("KubeVirt (3/7)", "virt-operator of KubeVirt "+w.namespace+"/kubevirt is v1.7.0: apply the manifests of virt-operator v1.8.4"))
		Expect(o.methods()).To(BeEmpty(), "held before virt-operator may roll anything out")
		Expect(apiserver.Get(ctx, c, o.kubeVirt).Spec.ImageTag).To(Equal(oldKubeVirt))

		By("setting the version, but not while it is paused")
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = true })
		o.isUpgraded(newKubeVirt)
		Expect(w.settle()).To(isAt("KubeVirt (3/7)", "paused: "))
		Expect(apiserver.Get(ctx, c, o.kubeVirt).Spec.ImageTag).To(Equal(oldKubeVirt))
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = false })
		Expect(w.settle()).To(isAt("KubeVirt (3/7)", "KubeVirt "+w.namespace+"/kubevirt is to have v1.7.0 instead of v1.8.4"))
		Expect(apiserver.Get(ctx, c, o.kubeVirt).Spec.ImageTag).To(Equal(newKubeVirt))
		Expect(w.hold("a")).To(Equal(infrav1.HoldStageNotReady))
		attempt := w.attempt("a", infrav1.UpgradeProgressing, false)
		Expect(w.settle().Stage).To(Equal("KubeVirt (3/7)"))

		o.deploys(newKubeVirt)
		apiserver.ChangeStatus(ctx, c, o.handler, func(d *appsv1.DaemonSet) { d.Status.NumberReady = 1 })
		Expect(w.settle().Message).To(ContainSubstring("virt-handler: of 2 Pods 2 are updated and 1 Ready"))
		o.deploys(newKubeVirt)
		Expect(w.settle().Stage).To(Equal("a (4/7)"))
		Expect(w.hold("a")).To(BeEmpty())
		Expect(c.Delete(ctx, attempt)).To(Succeed())

		By("holding the workloads until the nodes are done")
		upgradeNodes()
		moves, stays := w.outdated("moves", corev1.ConditionTrue), w.outdated("stays", corev1.ConditionFalse)
		Expect(w.settle()).To(isAt("Workloads (6/7)", "virt-controller looks which virtual machines"))
		w.later()
		w.settle()
		o.deploys(newKubeVirt)
		Expect(w.settle()).To(isAt("Workloads (6/7)", "KubeVirt brings virtual machines to launchers of its version: "+w.namespace+"/moves"))
		Expect(o.methods()).To(ConsistOf(kubevirtv1.WorkloadUpdateMethodLiveMigrate))
		Expect(o.isHeld()).To(BeFalse())
		apiserver.Change(ctx, c, moves, func(v *kubevirtv1.VirtualMachineInstance) { v.Labels = nil })
		done := w.settle()
		Expect(done.Phase).To(Equal(infrav1.ClusterUpgradeSucceeded))
		Expect(done.Stages).To(ContainElement(And(HaveField("Name", "Workloads"), HaveField("CompletionTime", Not(BeNil())),
			HaveField("Message", ContainSubstring("until they are restarted: "+w.namespace+"/"+stays.Name)))))
	})

	It("that has no image tag follows its operator, and is not pinned", func() {
		o := newOperator(w, func(k *kubevirtv1.KubeVirt) { k.Spec.ImageTag = "" })
		w.begin(with(infrav1.WorkloadsAfterNodes))
		Expect(w.settle().Message).To(ContainSubstring("apply the manifests of virt-operator v1.8.4"))
		Expect(o.methods()).To(BeEmpty())
		o.deploys(newKubeVirt)
		Expect(w.settle().Stage).To(Equal("a (4/7)"))
		Expect(apiserver.Get(ctx, c, o.kubeVirt).Spec.ImageTag).To(BeEmpty())
	})

	It("updates its workloads before the nodes where that is asked for", func() {
		o := newOperator(w, same)
		w.outdated("moves", corev1.ConditionTrue)
		w.begin(with(infrav1.WorkloadsBeforeNodes))
		o.isUpgraded(newKubeVirt)
		w.settle()
		o.deploys(newKubeVirt)
		Expect(w.settle()).To(isAt("Workloads (4/7)", "virt-controller looks which virtual machines"))
		w.later()
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = true })
		Expect(w.settle()).To(isAt("Workloads (4/7)", "paused: "))
		Expect(o.isHeld()).To(BeTrue())
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = false })
		w.settle()
		o.deploys(newKubeVirt)
		Expect(w.settle()).To(isAt("Workloads (4/7)", "KubeVirt brings virtual machines"))
		Expect(o.isHeld()).To(BeFalse())
		Expect(w.hold("a")).To(Equal(infrav1.HoldStageNotReady))
	})

	It("is left alone while the upgrade is paused, outside of windows, and where it has the version", func() {
		o := newOperator(w, same)
		w.begin(with(infrav1.WorkloadsAfterNodes), func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Windows = []infrav1.UpgradeWindow{{Schedule: "0 22 * * *", DurationSeconds: 3600}}
		})
		Expect(w.settle()).To(isAt("KubeVirt (3/7)", "no window is open"))
		Expect(o.isHeld()).To(BeFalse())
		o.deploys(newKubeVirt)
		Expect(w.settle().Stage).To(Equal("a (4/7)"))
		Expect(o.isHeld()).To(BeFalse())
	})

	DescribeTable("gets its workload updates back", func(end func(*operator)) {
		o := newOperator(w, same)
		w.begin(with(infrav1.WorkloadsAfterNodes))
		Expect(o.isHeld()).To(BeTrue())
		to.unreachable = true
		end(o)
		to.unreachable = false
		w.settle()
		Expect(o.methods()).To(ConsistOf(kubevirtv1.WorkloadUpdateMethodLiveMigrate))
		Expect(o.isHeld()).To(BeFalse())
	},
		Entry("when the upgrade is cancelled", func(*operator) {
			w.rollsOut("a")
			w.rollsOut("b")
			apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
			Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeCancelling),
				HaveField("Message", ContainSubstring("cannot be given back: cannot reach workload cluster c"))))
		}),
		Entry("when it is deleted", func(*operator) {
			Expect(c.Delete(ctx, w.upgrade)).To(Succeed())
			w.settle()
		}),
		Entry("when a node has failed", func(o *operator) {
			to.unreachable = false
			o.deploys(newKubeVirt)
			Expect(w.settle().Stage).To(Equal("a (4/7)"))
			Expect(o.isHeld()).To(BeTrue())
			w.attempt("a", infrav1.UpgradeRolledBack, true)
			Expect(w.settle().Phase).To(Equal(infrav1.ClusterUpgradeFailed))
		}),
	)

	DescribeTable("is not fought over", func(by func(*kubevirtv1.KubeVirt), expected string) {
		o := newOperator(w, same)
		w.begin(with(infrav1.WorkloadsAfterNodes))
		o.isUpgraded(newKubeVirt)
		w.settle()
		apiserver.Change(ctx, c, o.kubeVirt, by)
		stored := apiserver.Get(ctx, c, o.kubeVirt).Spec
		Expect(w.settle().Message).To(ContainSubstring(expected))
		Expect(apiserver.Get(ctx, c, o.kubeVirt).Spec).To(Equal(stored))
	},
		Entry("when its image tag is put back", func(k *kubevirtv1.KubeVirt) { k.Spec.ImageTag = oldKubeVirt },
			"/kubevirt to v1.7.0, and it is not changed again: set it to v1.8.4"),
		Entry("when its methods are put back", func(k *kubevirtv1.KubeVirt) {
			k.Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods = []kubevirtv1.WorkloadUpdateMethod{kubevirtv1.WorkloadUpdateMethodEvict}
		}, "again, by which virtual machines would be migrated twice: set it to []"),
		Entry("when the annotation is broken", func(k *kubevirtv1.KubeVirt) { k.Annotations[infrav1.HeldWorkloadsAnnotation] = "{" },
			"cannot be read"),
	)

	It("of a HyperConverged is not changed", func() {
		o := newOperator(w, func(k *kubevirtv1.KubeVirt) {
			k.OwnerReferences = []metav1.OwnerReference{{APIVersion: "hco.kubevirt.io/v1beta1", Kind: "HyperConverged", Name: "kubevirt-hyperconverged", UID: "u"}}
		})
		w.begin(with(infrav1.WorkloadsAfterNodes))
		Expect(w.settle().Message).To(ContainSubstring("is managed by HyperConverged kubevirt-hyperconverged, which has to upgrade it to v1.8.4"))
		Expect(o.isHeld()).To(BeFalse())
	})

	It("is left alone while nodes are in work, and after one has failed", func() {
		o := newOperator(w, same)
		inWork := func(slots ...infrav1.UpgradeSlot) {
			apiserver.ChangeStatus(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}, func(cluster *infrav1.ElementalCluster) { cluster.Status.UpgradeSlots = slots })
		}
		inWork(infrav1.UpgradeSlot{Attempt: "uid", Upgrade: "of-another-image"})
		w.begin(with(infrav1.WorkloadsAfterNodes))
		Expect(w.settle()).To(isAt("KubeVirt (3/7)", "waiting for ElementalHostUpgrade of-another-image to end: KubeVirt is not changed while nodes are in work"))
		Expect(o.isHeld()).To(BeFalse())
		inWork()
		w.attempt("a", infrav1.UpgradeRolledBack, true)
		Expect(w.settle()).To(And(HaveField("Phase", infrav1.ClusterUpgradeFailed), HaveField("Message", HavePrefix("node node-a was not upgraded"))))
		Expect(o.isHeld()).To(BeFalse())
	})

	It("is not updated any more once it was put back to the former version while nodes were upgraded", func() {
		o := newOperator(w, same)
		w.begin(with(infrav1.WorkloadsAfterNodes))
		o.isUpgraded(newKubeVirt)
		w.settle()
		o.deploys(newKubeVirt)
		w.settle()
		upgradeNodes()
		o.deploys(oldKubeVirt)
		w.later()
		Expect(w.settle()).To(isAt("Workloads (6/7)", "KubeVirt "+w.namespace+"/kubevirt is to have v1.7.0 instead of v1.8.4"))
	})

	It("holds the upgrade where there is none, and where the workload cluster cannot be reached", func() {
		w.begin(with(infrav1.WorkloadsAfterNodes))
		Expect(w.settle()).To(isAt("Preflight (1/7)", "there is no KubeVirt in the workload cluster: create an ElementalClusterUpgrade without spec.kubeVirt"))
		to.unreachable = true
		Expect(w.settle()).To(isAt("Preflight (1/7)", "cannot reach workload cluster c"))
	})

	It("is taken over by another upgrade, which puts back what the first one has held", func() {
		o := newOperator(w, same)
		w.begin(with(infrav1.WorkloadsAfterNodes))
		first := w.upgrade
		w.attempt("a", infrav1.UpgradeRolledBack, true)
		w.begin(with(infrav1.WorkloadsAfterNodes), func(u *infrav1.ElementalClusterUpgrade) { u.Name, u.Spec.OSVersion.ImageURI = "newer", imageC })
		second := w.upgrade
		w.upgrade = first
		w.settle()
		Expect(o.isHeld()).To(BeTrue())
		w.upgrade = second
		apiserver.Change(ctx, c, w.upgrade, func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel = true })
		w.settle()
		Expect(o.methods()).To(ConsistOf(kubevirtv1.WorkloadUpdateMethodLiveMigrate))
	})

	DescribeTable("needs a version", func(version string) {
		upgrade := &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("refused"), Spec: infrav1.ElementalClusterUpgradeSpec{
			ClusterName: "c", OSVersion: infrav1.ClusterOSVersion{ImageURI: imageB}, KubeVirt: &infrav1.ClusterKubeVirt{Version: version},
		}}
		Expect(c.Create(ctx, upgrade)).To(MatchError(ContainSubstring("spec.kubeVirt.version")))
	},
		Entry("that begins with v", "1.8.4"),
		Entry("that is one", "latest"),
	)
})
