// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// answerPause has Cluster API report whether a MachineDeployment is paused.
func answerPause(md *clusterv1.MachineDeployment) {
	GinkgoHelper()
	_, err := ownertest.AnswerPause(ctx, c, md)
	Expect(err).NotTo(HaveOccurred())
}

// pauseFor pauses a MachineDeployment for template "t", until Cluster API leaves it alone.
func pauseFor(owners *owner.Owners, md *clusterv1.MachineDeployment) {
	GinkgoHelper()
	answerPause(md)
	Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
	answerPause(md)
	Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeTrue())
}

var _ = Describe("Pause", func() {
	var (
		md     *clusterv1.MachineDeployment
		owners *owner.Owners
	)
	BeforeEach(func() {
		md, owners = ownertest.MachineDeployment(plane.NewNamespace(ctx), "md", "c", "t", 3), ownersAt(0)
		plane.Create(ctx, md)
	})
	pause := func() string {
		GinkgoHelper()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(md), md)).To(Succeed())
		return md.Annotations[clusterv1.PausedAnnotation]
	}

	It("lasts until Unpause", func() {
		Expect(owner.IsPausedByOthers(owner.ForMachineDeployment(md))).To(BeFalse())
		pauseFor(owners, md)
		Expect(pause()).To(Equal(infrav1.RolloutHoldPrefix + "t"))
		Expect(owner.PausedFor(owner.ForMachineDeployment(md))).To(Equal("t"))
		Expect(owner.IsPausedByOthers(owner.ForMachineDeployment(md))).To(BeFalse())
		Expect(capiworkaround.Unpause(ctx, owners, owner.ForMachineDeployment(md))).To(Succeed())
		Expect(pause()).To(BeEmpty())
		Expect(capiworkaround.Unpause(ctx, owners, owner.ForMachineDeployment(md))).To(Succeed())
	})

	It("is about to be answered as long as it is recent, whatever the cache keeps of it", func() {
		pauseFor(owners, md)
		cached := md.DeepCopy()
		cached.ManagedFields, cached.CreationTimestamp = nil, metav1.NewTime(md.CreationTimestamp.Add(-time.Hour))
		Expect(capiworkaround.AnswerIsDue(ctx, owners, owner.ForMachineDeployment(cached))).To(BeTrue())
		Expect(capiworkaround.AnswerIsDue(ctx, ownersAt(time.Hour), owner.ForMachineDeployment(cached))).To(BeFalse())
		Expect(c.Delete(ctx, md)).To(Succeed())
		Expect(capiworkaround.AnswerIsDue(ctx, owners, owner.ForMachineDeployment(cached))).To(BeFalse())
	})

	It("does not begin before Cluster API has said that it is not paused, or its answer could be an old one", func() {
		Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
		Expect(pause()).To(BeEmpty(), "it has said nothing yet")
		pauseFor(owners, md)
		Expect(capiworkaround.Unpause(ctx, owners, owner.ForMachineDeployment(md))).To(Succeed())
		Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
		Expect(pause()).To(BeEmpty(), "it has not said that it goes on")
	})

	DescribeTable("leaves Cluster API a while to act in between, whatever its clock says", func(ahead time.Duration) {
		conditions.Set(md, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason})
		Expect(c.Status().Update(ctx, md)).To(Succeed())
		owners = ownersAt(-ahead)
		first := owners.Clock.Now()
		for _, passed := range []time.Duration{0, 4 * time.Second} {
			owners.Clock = clocktesting.NewFakePassiveClock(first.Add(passed))
			Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
			Expect(pause()).To(BeEmpty())
		}
		owners.Clock = clocktesting.NewFakePassiveClock(first.Add(5 * time.Second))
		Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
		Expect(pause()).NotTo(BeEmpty())
	}, skews)

	It("begins after 5 seconds to the moment", func() {
		last := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
		conditions.Set(md, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason, LastTransitionTime: last})
		Expect(c.Status().Update(ctx, md)).To(Succeed())
		owners.Clock = clocktesting.NewFakePassiveClock(last.Time)
		Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
		owners.Clock = clocktesting.NewFakePassiveClock(last.Add(5*time.Second - 1))
		Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
		Expect(pause()).To(BeEmpty())
		owners.Clock = clocktesting.NewFakePassiveClock(last.Add(5 * time.Second))
		Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
		Expect(pause()).NotTo(BeEmpty())
	})

	It("makes a quiet point of what Cluster API cannot act on, for good", func() {
		ownertest.Observe(ctx, c, md, 3)
		pauseFor(owners, md)
		md.Spec.Template.Spec.Version = "v1.37.0"
		Expect(c.Update(ctx, md)).To(Succeed())
		Expect(notQuiet(owners, owner.ForMachineDeployment(md))).To(BeEmpty())
		Expect(capiworkaround.Unpause(ctx, owners, owner.ForMachineDeployment(md))).To(Succeed())
		Expect(notQuiet(owners, owner.ForMachineDeployment(md))).To(Equal("MachineDeployment md was changed and has not been acted on yet"))
	})

	It("does not touch somebody else's pause", func() {
		answerPause(md)
		annotate(md, clusterv1.PausedAnnotation, "")
		answerPause(md)
		Expect(owner.IsPausedByOthers(owner.ForMachineDeployment(md))).To(BeTrue())
		for range 2 {
			Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
			Expect(capiworkaround.Unpause(ctx, owners, owner.ForMachineDeployment(md))).To(Succeed())
			pause()
			Expect(md.Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, ""))
		}
		Expect(owners.RePoint(ctx, owner.ForMachineDeployment(md), "t", "t-1", capiworkaround.EndPause)).To(MatchError(capiworkaround.ErrNotPaused))
	})

	It("ends although something else is written in the same moment", func() {
		pauseFor(owners, md)
		owners.Client = writesFirst{c}
		Expect(capiworkaround.Unpause(ctx, owners, owner.ForMachineDeployment(md))).To(Succeed())
		Expect(pause()).To(BeEmpty())
	})

	It("is not taken away from somebody who has paused it in the same moment", func() {
		pauseFor(owners, md)
		owners.Client = pausesFirst{c}
		Expect(capiworkaround.Unpause(ctx, owners, owner.ForMachineDeployment(md))).To(Succeed())
		Expect(pause()).To(Equal("theirs"))
	})

	It("is what RePoint needs, and ends", func() {
		answerPause(md)
		Expect(owners.RePoint(ctx, owner.ForMachineDeployment(md), "t", "t-1", capiworkaround.EndPause)).To(MatchError(capiworkaround.ErrNotPaused))
		Expect(capiworkaround.Pause(ctx, owners, owner.ForMachineDeployment(md), "t")).To(BeFalse())
		Expect(owners.RePoint(ctx, owner.ForMachineDeployment(md), "t", "t-1", capiworkaround.EndPause)).To(MatchError(capiworkaround.ErrNotPaused))
		answerPause(md)
		Expect(owners.RePoint(ctx, owner.ForMachineDeployment(md), "t", "t-1", capiworkaround.EndPause)).To(Succeed())
		Expect(pause()).To(BeEmpty())
		Expect(md.Spec.Template.Spec.InfrastructureRef.Name).To(Equal("t-1"))
	})

	It("is nothing for a control plane", func() {
		kcp := ownertest.KubeadmControlPlane(md.Namespace, "cp", "c", "t")
		plane.Create(ctx, kcp)
		Expect(capiworkaround.Pause(ctx, owners, owner.ForKubeadmControlPlane(kcp), "t")).To(BeTrue())
		Expect(capiworkaround.Unpause(ctx, owners, owner.ForKubeadmControlPlane(kcp))).To(Succeed())
		Expect(owners.RePoint(ctx, owner.ForKubeadmControlPlane(kcp), "t", "t-1", capiworkaround.EndPause)).To(Succeed())
	})

	It("keeps an owner in List, whatever it refers to", func() {
		pauseFor(owners, md)
		md.Spec.Template.Spec.InfrastructureRef.Kind = "OtherMachineTemplate"
		Expect(c.Update(ctx, md)).To(Succeed())
		Expect(owners.List(ctx, md.Namespace, "t")).To(HaveLen(1))
		Expect(capiworkaround.Unpause(ctx, owners, owner.ForMachineDeployment(md))).To(Succeed())
		Expect(owners.List(ctx, md.Namespace, "t")).To(BeEmpty())
	})
})

var _ = DescribeTable("Between two Machines of a rollout, which is", func(prepare func(*rollingOut), matcher OmegaMatcher) {
	r := newRollingOut()
	prepare(r)
	Expect(between(ownersAt(atOnce), owner.ForMachineDeployment(r.md))).To(matcher)
	Expect(between(ownersAt(longAfter), owner.ForMachineDeployment(r.md))).To(BeEmpty(), "nothing goes on by itself any more")
},
	Entry("under way", func(*rollingOut) {},
		Equal("MachineDeployment md is in the middle of a rollout, and Cluster API is about to take the next Machine from MachineSet ms-old")),
	Entry("at a Machine that is being updated", func(r *rollingOut) { annotate(r.machine, clusterv1.UpdateInProgressAnnotation, "") }, BeEmpty()),
	Entry("at one Machine of two that are updated at once", func(r *rollingOut) {
		annotate(r.machine, clusterv1.UpdateInProgressAnnotation, "")
		r.md.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString("70%"))
		Expect(c.Update(ctx, r.md)).To(Succeed())
	}, HaveSuffix("the next Machine from MachineSet ms-old")),
	Entry("at a MachineSet whose Machines are to come", func(r *rollingOut) { ownertest.Observe(ctx, c, r.old, 0) }, HaveSuffix("the next Machine from MachineSet ms-old")),
	Entry("over", func(r *rollingOut) { scale(r.old, 0); ownertest.Observe(ctx, c, r.old, 0) }, BeEmpty()),
	Entry("about to begin", func(r *rollingOut) {
		r.md.Spec.Template.Spec.InfrastructureRef.Name = "fresh"
		Expect(c.Update(ctx, r.md)).To(Succeed())
		ownertest.Observe(ctx, c, r.md, 3)
	}, HaveSuffix("the next Machine from MachineSet ms-bad")),
	Entry("paused", func(r *rollingOut) { pauseFor(ownersAt(0), r.md) }, BeEmpty()),
	Entry("begun, and one MachineSet has a Machine that is not to be there", func(r *rollingOut) {
		r.old.Spec.Replicas = ptr.To[int32](0)
		Expect(c.Update(ctx, r.old)).To(Succeed())
		ownertest.Observe(ctx, c, r.old, 1)
	}, HaveSuffix("the next Machine from MachineSet ms-old")),
)

// aged has objects of some kinds written an hour before they were.
type aged struct {
	client.Reader
	deployments, sets bool
}

func (a aged) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := a.Reader.Get(ctx, key, object, options...)
	if _, isOne := object.(*clusterv1.MachineDeployment); isOne && a.deployments {
		age(object)
	}
	return err
}

func (a aged) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := a.Reader.List(ctx, list, options...)
	if sets, areSets := list.(*clusterv1.MachineSetList); areSets && a.sets {
		for i := range sets.Items {
			age(&sets.Items[i])
		}
	}
	return err
}

func age(object client.Object) {
	object.SetManagedFields(nil)
	object.SetCreationTimestamp(metav1.NewTime(object.GetCreationTimestamp().Add(-time.Hour)))
}

var _ = DescribeTable("Between two Machines of a rollout that goes on by", func(deployments, sets bool, matcher OmegaMatcher) {
	r, owners := newRollingOut(), ownersAt(atOnce)
	owners.Live = aged{c, deployments, sets}
	Expect(between(owners, owner.ForMachineDeployment(r.md))).To(matcher)
},
	Entry("its MachineDeployment", false, true, Not(BeEmpty())),
	Entry("its MachineSets", true, false, Not(BeEmpty())),
	Entry("nothing", true, true, BeEmpty()),
)

var _ = It("Between two Machines of a control plane nothing is taken", func() {
	kcp := ownertest.KubeadmControlPlane(plane.NewNamespace(ctx), "cp", "c", "t")
	plane.Create(ctx, kcp)
	Expect(between(ownersAt(atOnce), owner.ForKubeadmControlPlane(kcp))).To(BeEmpty())
})
