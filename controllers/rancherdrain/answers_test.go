// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancherdrain_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

type answers = map[string]string

var (
	no        = answers{}
	onlyPre   = answers{pre: token}
	bothGiven = answers{pre: token, post: token}
)

// all that Rancher asks in one drain, whatever came before.
var all = []string{rancher.PreDrainAnnotation, rancher.DrainDoneAnnotation, rancher.UncordonAnnotation, rancher.PostDrainAnnotation}

var _ = DescribeTable("When Rancher has asked for all of a drain, it is answered", func(expected answers, given ...func(*world)) {
	w := newWorld()
	for _, change := range given {
		change(w)
	}
	w.asks(all...)
	result := w.reconcile()
	Expect(w.answers()).To(Equal(expected))
	Expect(w.recorder.said).To(BeEmpty(), "nobody has to act")
	if len(expected) < 2 {
		Expect(result.RequeueAfter).To(BeNumerically(">", 0), "what is not answered is looked at again")
	} else {
		Expect(result.RequeueAfter).To(BeZero())
	}
	settled := apiserver.Get(ctx, c, w.secret).ResourceVersion
	w.reconcile()
	Expect(apiserver.Get(ctx, c, w.secret).ResourceVersion).To(Equal(settled), "it is written once")
},
	Entry("wholly, if the machine is as its template asks", bothGiven),
	Entry("not at all before the attempt hands the Node over", no, underway(attempts.StepApprove)),
	Entry("not at all by an attempt that was just made", no, underway()),
	Entry("once it does", onlyPre, underway(attempts.StepHandOver)),
	Entry("and not more until it hands the Node back", onlyPre, underway(attempts.StepHandOver, attempts.StepReboot, attempts.StepAssess)),
	Entry("wholly then", bothGiven, underway(attempts.StepHandOver, attempts.StepReboot, attempts.StepHandBack)),
	Entry("wholly, if the attempt has succeeded", bothGiven, ended(infrav1.UpgradeSucceeded)),
	Entry("not at all while another attempt is about to replace it", no, ended(infrav1.UpgradeSuperseded)),
	Entry("not at all while the template was patched and the machine is not assigned", no, func(w *world) { w.patch(imageB) }),
	Entry("not at all while the machine is assigned and its attempt is not made", no, func(w *world) { w.patch(imageB); w.assign(imageB, rolledOut) }),
	Entry("not at all for a template that was patched again after a rollback", no, ended(infrav1.UpgradeRolledBack), func(w *world) { w.patch("oci:registry/os:c") }),

	Entry("wholly without the Machine", bothGiven, func(w *world) { Expect(c.Delete(ctx, w.machine)).To(Succeed()) }),
	Entry("wholly without the ElementalMachine", bothGiven, pending, func(w *world) { Expect(c.Delete(ctx, w.elemental)).To(Succeed()) }),
	Entry("wholly without the template, for an attempt that waits for the drain", bothGiven, underway(attempts.StepApprove), func(w *world) { Expect(c.Delete(ctx, w.template)).To(Succeed()) }),
	Entry("not at all without the template, for an attempt that has taken the Node out of service", no, underway(attempts.StepCordon), func(w *world) { Expect(c.Delete(ctx, w.template)).To(Succeed()) }),
	Entry("wholly where a user has removed the hooks, and there is no attempt", bothGiven, pending, func(w *world) { w.lists() }),
	Entry("not at all where a user has removed the hooks, and there is one", no, underway(attempts.StepApprove), func(w *world) { w.lists() }),
	Entry("not at all where the hooks are listed, and the attempt is not made", no, pending, func(w *world) { w.lists("worker") }),
	Entry("wholly without the template", bothGiven, func(w *world) { Expect(c.Delete(ctx, w.template)).To(Succeed()) }),
	Entry("wholly without the Cluster", bothGiven, pending, func(w *world) { Expect(c.Delete(ctx, w.cluster)).To(Succeed()) }),
	Entry("wholly for a Machine that is being deleted, whatever is underway", bothGiven, underway(), func(w *world) {
		apiserver.Change(ctx, c, w.machine, func(m *clusterv1.Machine) { m.Finalizers = []string{"example.com/held"} })
		Expect(c.Delete(ctx, w.machine)).To(Succeed())
	}),
	Entry("wholly in a Cluster that is being deleted", bothGiven, underway(), func(w *world) {
		apiserver.Change(ctx, c, w.cluster, func(c *clusterv1.Cluster) { c.Finalizers = []string{"example.com/held"} })
		Expect(c.Delete(ctx, w.cluster)).To(Succeed())
	}),
	Entry("wholly for a machine of another provider", bothGiven, pending, func(w *world) {
		apiserver.Change(ctx, c, w.machine, func(m *clusterv1.Machine) { m.Spec.InfrastructureRef = ownertest.Reference("OtherMachine", "m") })
	}),
	Entry("wholly in a Cluster that Rancher has not provisioned", bothGiven, pending, func(w *world) {
		apiserver.Change(ctx, c, w.cluster, func(c *clusterv1.Cluster) { c.Spec.ControlPlaneRef.Kind = "RKE2ControlPlane" })
	}),
	Entry("wholly, if the host ran the OS already when its attempt began", bothGiven, underway(attempts.StepAssess, attempts.StepHandBack)),
	Entry("wholly for a template that asks for no image", bothGiven, func(w *world) {
		apiserver.Change(ctx, c, w.template, func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
		})
	}),
	Entry("not at all in a paused Cluster", no, func(w *world) { w.pause() }),
	Entry("not at all for a paused Machine", no, func(w *world) {
		apiserver.Change(ctx, c, w.machine, func(m *clusterv1.Machine) { m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	}),
	Entry("not at all in a Cluster of another manager", no, func(w *world) { w.reconciler.WatchFilter = "ours" }),
	Entry("wholly in a Cluster of this manager", bothGiven, func(w *world) {
		w.reconciler.WatchFilter = "ours"
		apiserver.Change(ctx, c, w.cluster, func(c *clusterv1.Cluster) { c.Labels = map[string]string{clusterv1.WatchLabel: "ours"} })
	}),
)

// pending has the template ask for another image than the machine is assigned.
func pending(w *world) { w.patch(imageB) }

func underway(steps ...string) func(*world) { return func(w *world) { w.rollOut(steps...) } }

func ended(phase infrav1.UpgradePhase) func(*world) {
	return func(w *world) { w.end(w.rollOut(attempts.StepHandOver), phase) }
}

var _ = It("A template that is paused holds the Node, and says so", func() {
	w := newWorld()
	w.patch(imageB)
	apiserver.Change(ctx, c, w.template, func(t *infrav1.ElementalMachineTemplate) {
		t.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	w.asks(all...)
	w.reconcile()
	Expect(w.answers()).To(BeEmpty())
	Expect(w.recorder.said).To(HaveEach(HaveSuffix("Node node-m cordoned: ElementalMachineTemplate t is paused: remove its annotation cluster.x-k8s.io/paused")))
	Expect(w.recorder.said).To(HaveLen(2))
})

var _ = DescribeTable("A drain whose options do not list both hooks", func(options string, expected answers) {
	w := newWorld()
	w.patch(imageB)
	asked := answers{rancher.DrainOptionsAnnotation: options}
	for _, annotation := range all {
		asked[annotation] = options
	}
	w.rancher(asked)
	w.reconcile()
	Expect(w.answers()).To(Equal(expected))
},
	Entry("is another party's, if it lists none", `{"enabled":true,"preDrainHooks":[{"annotation":"example.com/theirs"}]}`, no),
	Entry("must not wait for one alone", `{"postDrainHooks":[{"annotation":"`+post+`"}]}`, answers{
		pre: `{"postDrainHooks":[{"annotation":"` + post + `"}]}`, post: `{"postDrainHooks":[{"annotation":"` + post + `"}]}`,
	}),
)

func (w *world) pause() {
	GinkgoHelper()
	apiserver.Change(ctx, c, w.cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
}

var _ = Describe("A drain of Rancher", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("is answered when it is asked, not before", func() {
		w.asks()
		w.reconcile()
		Expect(w.answers()).To(BeEmpty(), "the Node is not cordoned yet")
		w.asks(rancher.PreDrainAnnotation)
		w.reconcile()
		Expect(w.answers()).To(Equal(onlyPre))
		w.asks(rancher.DrainDoneAnnotation)
		w.rancher(answers{rancher.UncordonAnnotation: token})
		w.reconcile()
		Expect(w.answers()).To(Equal(onlyPre), "Rancher is not asked back yet")
		w.asks(rancher.PostDrainAnnotation)
		w.reconcile()
		Expect(w.answers()).To(Equal(bothGiven))
	})

	It("is not answered by what is left of an earlier one", func() {
		w.rancher(bothGiven)
		w.reconcile()
		Expect(w.answers()).To(BeEmpty())
		attempt := w.rollOut()
		w.rancher(bothGiven)
		w.asks(rancher.PreDrainAnnotation)
		w.reconcile()
		Expect(w.answers()).To(BeEmpty(), "nor when Rancher asks with the same token")
		w.enter(attempt, attempts.StepCordon)
		w.rancher(bothGiven)
		w.asks(all...)
		w.reconcile()
		Expect(w.answers()).To(BeEmpty(), "nor when it has asked for all")
	})

	It("is answered where an answer is left from an earlier one and Rancher is about to uncordon: the attempt waits for the next drain", func() {
		w.rollOut()
		w.rancher(bothGiven)
		w.asks(all...)
		w.reconcile()
		Expect(w.answers()).To(Equal(bothGiven))
	})

	It("is not answered by what is left of an earlier one in a paused Cluster", func() {
		w.pause()
		w.rancher(bothGiven)
		w.reconcile()
		Expect(w.answers()).To(BeEmpty(), "the next drain would be answered at once")
	})

	It("is another one when its options are changed, for which the answers are void", func() {
		attempt := w.rollOut(attempts.StepHandOver)
		w.asks(rancher.PreDrainAnnotation)
		w.reconcile()
		Expect(w.answers()).To(Equal(onlyPre))
		w.rancher(answers{rancher.DrainOptionsAnnotation: otherToken})
		w.reconcile()
		Expect(w.answers()).To(BeEmpty(), "its hooks are not asked yet")
		w.rancher(answers{rancher.PreDrainAnnotation: otherToken})
		w.reconcile()
		Expect(w.answers()).To(Equal(answers{pre: otherToken}))
		w.enter(attempt, attempts.StepHandBack)
		w.rancher(answers{rancher.PostDrainAnnotation: token})
		w.reconcile()
		Expect(w.answers()).To(Equal(answers{pre: otherToken}), "that was asked by the former drain")
	})

	DescribeTable("is answered if it is withdrawn before the Node is drained", func(given func(*world)) {
		given(w)
		w.asks(rancher.PreDrainAnnotation)
		w.reconcile()
		Expect(w.answers()).To(BeEmpty())
		w.rancher(answers{rancher.UncordonAnnotation: token})
		w.reconcile()
		Expect(w.answers()).To(Equal(bothGiven), "Rancher would wait for ever")
		w.asks(rancher.DrainDoneAnnotation, rancher.PostDrainAnnotation)
		w.reconcile()
		Expect(w.answers()).To(Equal(bothGiven), "the Node is drained all the same, and nothing begins in this drain")
	},
		Entry("before an attempt is made", pending),
		Entry("while one waits for it, which waits for the next drain then", underway(attempts.StepApprove)),
	)

	It("waits for the attempt that has taken the Node out of service although it is withdrawn", func() {
		w.rollOut(attempts.StepCordon)
		w.asks(rancher.PreDrainAnnotation)
		w.rancher(answers{rancher.UncordonAnnotation: token})
		w.reconcile()
		Expect(w.answers()).To(BeEmpty())
	})

	It("is answered although Rancher's agent writes the Secret at the same time, and what that wrote stays", func() {
		w.live.meanwhile = func() {
			apiserver.Change(ctx, c, w.secret, func(s *corev1.Secret) {
				s.Data["probe-statuses"] = []byte("new")
				s.Annotations["example.com/late"] = "kept"
			})
		}
		w.asks(all...)
		Expect(w.reconcile().RequeueAfter).To(BeNumerically("<", time.Second), "it is tried again")
		Expect(w.answers()).To(BeEmpty(), "the Secret may be of the next drain")
		w.live.meanwhile = nil
		w.reconcile()
		Expect(w.answers()).To(Equal(bothGiven))
		Expect(w.secret.Data).To(And(HaveKeyWithValue("probe-statuses", []byte("new")), HaveKeyWithValue("plan", []byte("secret"))))
		Expect(w.secret.Annotations).To(And(HaveKeyWithValue("example.com/late", "kept"), HaveKeyWithValue("example.com/theirs", "kept")))
	})

	It("needs no answer when the Secret is gone", func() {
		w.asks(all...)
		apiserver.Change(ctx, c, w.secret, func(s *corev1.Secret) { s.Finalizers = nil })
		w.live.meanwhile = func() { _ = c.Delete(ctx, w.secret.DeepCopy()) }
		request := requestFor(w.secret)
		for range 2 { // it goes while it is answered, and has gone
			_, err := w.reconciler.Reconcile(ctx, request)
			Expect(err).NotTo(HaveOccurred())
		}
	})
})
