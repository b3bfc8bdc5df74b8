// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

func named(nodes ...string) infrav1.NodeUpgradeOption {
	return infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: nodes}}
}

var (
	auto     = infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{PauseNodes: []string{"a"}}}
	all      = map[string]string{"a": "new by new", "b": "new by new", "c": "new by new"}
	approved = infrav1.UpgradeStepStatus{Name: "Approve", StartedAt: metav1.Now(), FinishedAt: new(metav1.Now())}
)

// failingReads is a client of which no read of one object succeeds.
type failingReads struct {
	client.Client
	failure error
	calls   int
}

func (f *failingReads) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	f.calls++
	return f.failure
}

var _ = Describe("A rollout", func() {
	DescribeTable("pauses from its beginning", func(ctx SpecContext, options infrav1.NodeUpgradeOption, expected map[string]string) {
		w := newWorld(ctx, manual)
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(BeEmpty(), "there is none yet")
		w.rollOut(ctx, "new", imageB, options)
		Expect(w.pauses(ctx)).To(Equal(expected))
	},
		Entry("all nodes, where none are named", manual, all),
		Entry("the nodes that are named", named("a", "c"), map[string]string{"a": "new by new", "c": "new by new"}),
		Entry("no node in mode auto", auto, map[string]string{}),
	)

	It("pauses nothing before it is recorded, by the options of its beginning", func(ctx SpecContext) {
		w := newWorld(ctx, named("b"))
		template := ownertest.Template(w.namespace, "new", imageB)
		Expect(live.Create(ctx, template)).To(Succeed())
		w.pointTo(ctx, "new")
		Expect(w.pauses(ctx)).To(BeEmpty())
		w.record(ctx, template, named("c"))
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"c": "new by new"}))
	})

	It("pauses when the workload cluster is connected again", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.connection.cut = true
		w.rollOut(ctx, "new", imageB, manual)
		Expect(w.pauses(ctx)).To(BeEmpty())
		w.connection.cut = false
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(Equal(all))
	})

	DescribeTable("pauses as soon as the workload cluster answers, which fails", func(ctx SpecContext, failure error, calls int) {
		w := newWorld(ctx, manual)
		broken := &failingReads{Client: live, failure: failure}
		w.connection.client = broken
		template := ownertest.Template(w.namespace, "new", imageB)
		Expect(live.Create(ctx, template)).To(Succeed())
		w.record(ctx, template, manual)
		change(ctx, w, "workers", &clusterv1.MachineDeployment{}, func(md *clusterv1.MachineDeployment) { md.Spec.Template.Spec.InfrastructureRef.Name = "new" })
		_, err := w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: clusterName}})
		Expect(err).To(MatchError(failure))
		Expect(broken.calls).To(Equal(calls))

		w.connection.client = nil
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(HaveLen(3))
	},
		Entry("by not answering: the other nodes would be waited for as long", context.DeadlineExceeded, 1),
		Entry("by refusing a node, which says nothing of the others", apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "a", nil), 3),
	)

	It("is none of our business in a Cluster without the watch filter", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.reconciler.WatchFilterValue = "mine"
		w.rollOut(ctx, "new", imageB, manual)
		Expect(w.pauses(ctx)).To(BeEmpty())
		cluster := &clusterv1.Cluster{}
		Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: clusterName}, cluster)).To(Succeed())
		label := func(filter string) {
			cluster.Labels = map[string]string{clusterv1.WatchLabel: filter}
			Expect(live.Update(ctx, cluster)).To(Succeed())
			w.reconcile(ctx)
		}
		label("theirs")
		Expect(w.pauses(ctx)).To(BeEmpty())
		label("mine")
		Expect(w.pauses(ctx)).To(Equal(all))
	})

	It("leaves a paused Cluster alone", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		change(ctx, w, clusterName, &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = new(true) })
		w.rollOut(ctx, "new", imageB, manual)
		Expect(w.pauses(ctx)).To(BeEmpty())
	})

	It("of one pool or control plane pauses nobody else's nodes", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		kcp := ownertest.KubeadmControlPlane(w.namespace, "plane", clusterName, "old")
		Expect(live.Create(ctx, kcp)).To(Succeed())
		for _, name := range []string{"k", "l", "m"} {
			w.add(ctx, ownertest.ControlPlaneMachine(kcp, name))
		}
		w.rollOut(ctx, "new", imageB, manual)
		Expect(w.pauses(ctx)).To(Equal(all))
		change(ctx, w, "plane", &controlplanev1.KubeadmControlPlane{}, func(kcp *controlplanev1.KubeadmControlPlane) {
			kcp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "new"
		})
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(And(HaveLen(6), HaveKeyWithValue("l", "new by new")))
	})
})

var _ = Describe("A node that is resumed before its turn", func() {
	It("is not paused again in the same rollout, and is in the next", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.rollOut(ctx, "new", imageB, manual)
		w.resume(ctx, "b")
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"a": "new by new", "c": "new by new"}))
		Expect(w.approved(ctx, "b")).To(Equal("new"))

		w.begin(ctx, "b", "new", imageB)
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).NotTo(HaveKey("b"))
		Expect(w.approved(ctx, "b")).To(Equal("new"), "it is kept for all attempts")

		w.rollOut(ctx, "newer", imageB, manual)
		Expect(w.pauses(ctx)).To(HaveKeyWithValue("b", "newer by newer"))
		Expect(w.approved(ctx, "b")).To(BeEmpty())
	})

	It("is upgraded, and nothing is left", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.rollOut(ctx, "new", imageB, named("b"))
		w.resume(ctx, "b")
		w.reconcile(ctx)
		w.begin(ctx, "b", "new", imageB)
		w.boot(ctx, "b", imageB)
		w.finish(ctx, "b")
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(BeEmpty())
		Expect(w.approved(ctx, "b")).To(BeEmpty())
	})
})

var _ = Describe("A pause of a person", func() {
	It("is none of our business on an idle node", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.annotate(ctx, "a", "")
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"a": " by "}))
	})

	It("is noted in a rollout, and taking it away lets the node go on", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.annotate(ctx, "a", "lunch")
		w.rollOut(ctx, "new", imageB, auto)
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"a": "lunch by new"}))
		w.resume(ctx, "a")
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(BeEmpty())
		Expect(w.approved(ctx, "a")).To(Equal("new"))
	})

	It("is left when the rollout is reverted", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.annotate(ctx, "a", "lunch")
		w.rollOut(ctx, "new", imageB, manual)
		Expect(w.pauses(ctx)).To(HaveKeyWithValue("a", "lunch by new"))
		w.pointTo(ctx, "old")
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"a": "lunch by "}))
	})
})

var _ = Describe("Nothing of ours is left", func() {
	paused := map[string]string{"a": "new by new"}
	begun := func(ctx context.Context) *world {
		GinkgoHelper()
		w := newWorld(ctx, manual)
		w.rollOut(ctx, "new", imageB, named("a"))
		Expect(w.pauses(ctx)).To(Equal(paused))
		w.begin(ctx, "a", "new", imageB)
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(Equal(paused), "its turn has come, and it waits")
		return w
	}

	It("when the owner is reverted", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.rollOut(ctx, "new", imageB, manual)
		w.pointTo(ctx, "old")
		Expect(w.pauses(ctx)).To(BeEmpty())
	})

	It("when the old image is patched back, which is a rollout that upgrades nothing that was not begun", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.rollOut(ctx, "new", imageB, manual)
		w.begin(ctx, "a", "new", imageB)
		w.boot(ctx, "a", imageB)
		w.finish(ctx, "a")
		w.rollOut(ctx, "old-again", imageA, manual)
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"a": "old-again by old-again"}))
	})

	It("when the template is patched back, while its Machines are brought to its content of before", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		patch := func(image string) {
			change(ctx, w, "old", &infrav1.ElementalMachineTemplate{}, func(source *infrav1.ElementalMachineTemplate) {
				source.Spec.Template.Spec.OSVersionManagement = ownertest.OS(image)
			})
		}
		patch(imageB)
		of := w.record(ctx, ownertest.Template(w.namespace, "old", imageB), manual)
		for _, name := range []string{"a", "b", "c"} {
			change(ctx, w, name, &infrav1.ElementalMachine{}, func(machine *infrav1.ElementalMachine) {
				owner.Note(machine, "old", osversion.Hash(ownertest.OS(imageB)), of.Name)
			})
		}
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(HaveLen(3))
		patch(imageA)
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(BeEmpty())
		w.attempt(ctx, "a", of.Name, infrav1.UpgradeProgressing)
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(BeEmpty(), "what has started of the former rollout is passed over")
	})

	DescribeTable("when the attempt", func(ctx SpecContext, phase infrav1.UpgradePhase, end func(context.Context, *world, *infrav1.ElementalHostUpgrade), steps ...infrav1.UpgradeStepStatus) {
		w := begun(ctx)
		attempt := w.attempt(ctx, "a", "new", phase, steps...)
		if end != nil {
			w.reconcile(ctx)
			Expect(w.pauses(ctx)).To(Equal(paused))
			end(ctx, w, attempt)
		}
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(BeEmpty())
	},
		Entry("succeeded", infrav1.UpgradeSucceeded, nil),
		Entry("rolled back", infrav1.UpgradeRolledBack, nil),
		Entry("failed", infrav1.UpgradeFailed, nil),
		Entry("was superseded", infrav1.UpgradeSuperseded, nil),
		Entry("was aborted", infrav1.UpgradeAborted, nil),
		Entry("lost its host", infrav1.UpgradeHostLost, nil),
		Entry("has passed the step", infrav1.UpgradeProgressing, nil, approved),
		Entry("is cancelled", infrav1.UpgradeProgressing, func(ctx context.Context, w *world, attempt *infrav1.ElementalHostUpgrade) {
			change(ctx, w, attempt.Name, attempt, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true })
		}),
		Entry("is being deleted", infrav1.UpgradeProgressing, func(ctx context.Context, w *world, attempt *infrav1.ElementalHostUpgrade) {
			w.deleteObject(ctx, attempt.Name, attempt)
		}),
		Entry("has lost its Machine", infrav1.UpgradeProgressing, func(ctx context.Context, w *world, _ *infrav1.ElementalHostUpgrade) {
			w.deleteObject(ctx, "a", &clusterv1.Machine{})
		}),
		Entry("has lost its Cluster", infrav1.UpgradeProgressing, func(ctx context.Context, w *world, _ *infrav1.ElementalHostUpgrade) {
			change(ctx, w, clusterName, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Finalizers = []string{clusterv1.ClusterFinalizer} })
			w.deleteObject(ctx, clusterName, &clusterv1.Cluster{})
		}),
	)

	It("when the template is deleted, on nodes whose attempts have not begun", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.rollOut(ctx, "new", imageB, manual)
		w.begin(ctx, "a", "new", imageB)
		w.attempt(ctx, "a", "new", infrav1.UpgradeProgressing)
		w.deleteObject(ctx, "new", &infrav1.ElementalMachineTemplate{})
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(Equal(paused), "an attempt has all that it needs")
	})

	It("on a Node that is no Machine's any more", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		Expect(live.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "z", Annotations: map[string]string{
			infrav1.NodeUpgradePauseAnnotation: "gone", infrav1.PausedByAnnotation: "gone",
		}}})).To(Succeed())
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(BeEmpty())
	})
})

var _ = Describe("A retry", func() {
	It("is paused again, unless it was approved", func(ctx SpecContext) {
		w := newWorld(ctx, manual)
		w.rollOut(ctx, "new", imageB, named("a", "b"))
		for _, name := range []string{"a", "b"} {
			w.begin(ctx, name, "new", imageB)
			w.attempt(ctx, name, "new", infrav1.UpgradeAborted)
		}
		w.annotateMachine(ctx, "b", infrav1.ApprovedRolloutAnnotation, "new")
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(BeEmpty())
		for _, name := range []string{"a-new", "b-new"} {
			change(ctx, w, name, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Finalizers = nil })
			w.deleteObject(ctx, name, &infrav1.ElementalHostUpgrade{})
		}
		w.reconcile(ctx)
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"a": "new by new"}))
		Expect(w.approved(ctx, "b")).To(Equal("new"))
	})
})

var _ = Describe("Names that are no nodes", func() {
	It("are reported of the spec, and of the rollout that runs with them", func(ctx SpecContext) {
		w := newWorld(ctx, named("z", "a", "y"))
		w.reconcile(ctx)
		const inSpec = "spec.nodeUpgradeOption.strategy.pauseNodes names y, z, which are no nodes of the cluster: correct it before the next rollout"
		Expect(w.known(ctx)).To(HaveValue(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", infrav1.UnknownNodesReason), HaveField("Message", inSpec))))
		Expect(w.events.Events).To(Receive(Equal("Warning UnknownPauseNodes " + inSpec)))

		w.rollOut(ctx, "new", imageB, named("x", "b"))
		change(ctx, w, clusterName, &infrav1.ElementalCluster{}, func(c *infrav1.ElementalCluster) { c.Spec.NodeUpgradeOption = named("b") })
		w.reconcile(ctx)
		const inRollout = "pauseNodes of ElementalRollout new names x, which is no node of the cluster: " +
			"annotate the Node that is meant with " + infrav1.NodeUpgradePauseAnnotation
		Expect(w.known(ctx)).To(HaveValue(HaveField("Message", inRollout)))
		Expect(w.pauses(ctx)).To(Equal(map[string]string{"b": "new by new"}), "those that are known are paused")

		w.pointTo(ctx, "old")
		Expect(w.known(ctx)).To(HaveValue(HaveField("Status", metav1.ConditionTrue)))
		change(ctx, w, clusterName, &infrav1.ElementalCluster{}, func(c *infrav1.ElementalCluster) { c.Spec.NodeUpgradeOption = auto })
		w.reconcile(ctx)
		Expect(w.known(ctx)).To(BeNil(), "nobody asks")
	})

	It("are not judged while a Machine has no Node yet", func(ctx SpecContext) {
		w := newWorld(ctx, named("d"))
		machine := ownertest.Machine(w.set, "d")
		machine.Labels[clusterv1.ClusterNameLabel] = clusterName
		Expect(live.Create(ctx, machine)).To(Succeed())
		w.reconcile(ctx)
		Expect(w.known(ctx)).To(HaveValue(HaveField("Status", metav1.ConditionTrue)))
	})
})
