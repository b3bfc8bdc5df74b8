// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"cmp"
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// patched has the world's attempt be that of a patched template.
func (w *world) patched(ctx context.Context) {
	GinkgoHelper()
	direct := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
	Expect(live.Delete(ctx, direct)).To(Succeed())
	direct.ObjectMeta, direct.Spec.Driver = w.meta(w.upgrade), infrav1.DriverDirect
	Expect(live.Create(ctx, direct)).To(Succeed())
}

// playAll lets all attempts, and their hosts, do what they can.
func (w *world) playAll(ctx context.Context, agents map[string]*agent) {
	GinkgoHelper()
	const enough = 20
	for range enough {
		for name, agent := range agents {
			_, err := w.reconcileNamed(ctx, name)
			Expect(err).NotTo(HaveOccurred())
			agent.tick(ctx)
		}
	}
}

func (w *world) rolloutNow(ctx context.Context) infrav1.ElementalRolloutSpec {
	GinkgoHelper()
	return get(ctx, w, rolloutName, &infrav1.ElementalRollout{}).Spec
}

func holdsOf(ctx context.Context, w *world, name string) []infrav1.UpgradeHold {
	GinkgoHelper()
	return get(ctx, w, name, &infrav1.ElementalHostUpgrade{}).Status.Holds
}

// unstopped is a cache that has not heard what stops a rollout.
type unstopped struct{ client.Client }

func (u unstopped) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := u.Client.Get(ctx, key, object, options...)
	if of, isRollout := object.(*infrav1.ElementalRollout); isRollout {
		of.Spec.StoppedBy = ""
	}
	return err
}

var _ = Describe("The turn of an attempt", func() {
	It("to fetch comes when the first host of the rollout has resolved the image", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		other := w.addOther(ctx, "b", infrav1.NodeUpgradeOption{AllowQuorumLoss: true})
		w.agent.stopAt = infrav1.HostUpgradeFetching
		w.drive(ctx, nil)
		w.playAll(ctx, map[string]*agent{"upgrade-b": other})
		Expect(holdsOf(ctx, w, "upgrade-b")).To(beHeldBy(infrav1.HoldPrefetchBusy))
		Expect(get(ctx, w, w.namespace+"-b", &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil(), "it is not asked")

		w.agent.stopAt = infrav1.HostUpgradeFetched
		w.playAll(ctx, map[string]*agent{w.upgrade: w.agent, "upgrade-b": other})
		Expect(get(ctx, w, w.namespace+"-b", &infrav1.ElementalHost{}).Spec.Upgrade).To(HaveField("Digest", newDigest))
	})

	It("to fetch is lost by a host that goes silent before it has", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		other := w.addOther(ctx, "b", infrav1.NodeUpgradeOption{AllowQuorumLoss: true})
		w.agent.stopAt = infrav1.HostUpgradeFetching
		w.drive(ctx, nil)
		host := get(ctx, w, w.host, &infrav1.ElementalHost{})
		host.Status.Agent.LastSeen = metav1.NewTime(w.clock.Now())
		Expect(live.Status().Update(ctx, host)).To(Succeed())
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.rest(ctx)
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldHostNotReporting))
		w.playAll(ctx, map[string]*agent{"upgrade-b": other})
		Expect(w.rolloutNow(ctx).ImageDigest).To(Equal(newDigest))
	})

	It("to fetch does not come after a host of the rollout has failed to, also where the cache has not heard of that", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		other := w.addOther(ctx, "b", infrav1.NodeUpgradeOption{AllowQuorumLoss: true})
		w.patched(ctx)
		w.agent.failsAt = infrav1.HostUpgradeFetched
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeFailed))
		Expect(w.rolloutNow(ctx).StoppedBy).To(Equal(w.upgrade))
		w.reconciler.Client = unstopped{w.reconciler.Client}
		w.playAll(ctx, map[string]*agent{"upgrade-b": other})
		Expect(holdsOf(ctx, w, "upgrade-b")).To(beHeldBy(infrav1.HoldRolloutStopped))
		Expect(get(ctx, w, w.namespace+"-b", &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil())
	})

	It("to be upgraded comes after the control plane nodes, unless they wait for a user", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.addOther(ctx, "z", infrav1.NodeUpgradeOption{AllowQuorumLoss: true})
		change(ctx, w, w.namespace+"-z", &clusterv1.Machine{}, func(machine *clusterv1.Machine) { machine.Labels[clusterv1.MachineControlPlaneLabel] = "" })
		change(ctx, w, "upgrade-z", &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) {
			u.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		})
		w.drive(ctx, nil)
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldNotInTurn))
		Expect(w.slots(ctx)).To(BeEmpty())

		other := get(ctx, w, "upgrade-z", &infrav1.ElementalHostUpgrade{})
		other.Status.Phase = infrav1.UpgradeProgressing
		other.Status.Holds = []infrav1.UpgradeHold{{Reason: infrav1.HoldNodePaused, Since: metav1.NewTime(began), Who: infrav1.HoldByUser}}
		Expect(live.Status().Update(ctx, other)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("to be upgraded comes after the nodes with former names, as long as nothing else holds them", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		other := w.addOther(ctx, "b", infrav1.NodeUpgradeOption{AllowQuorumLoss: true})
		w.playAll(ctx, map[string]*agent{"upgrade-b": other})
		Expect(holdsOf(ctx, w, "upgrade-b")).To(beHeldBy(infrav1.HoldNotInTurn))
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
		w.playAll(ctx, map[string]*agent{"upgrade-b": other})
		Expect(w.statusOf(ctx, "upgrade-b").Steps).To(ContainElement(HaveField("Name", "Reboot")))
	})

	It("to be upgraded comes first for the node with the former name, where what held both has ended", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		other := w.addOther(ctx, "b", infrav1.NodeUpgradeOption{AllowQuorumLoss: true})
		w.owners.closed = "the namespace has opted out"
		both := map[string]*agent{w.upgrade: w.agent, "upgrade-b": other}
		w.playAll(ctx, both)
		for name := range both {
			Expect(holdsOf(ctx, w, name)).To(beHeldBy(infrav1.HoldNamespaceNotOptedIn))
		}
		w.owners.closed = ""
		version := ""
		for range 4 {
			_, err := w.reconcileNamed(ctx, "upgrade-b")
			Expect(err).NotTo(HaveOccurred())
			now := get(ctx, w, "upgrade-b", &infrav1.ElementalHostUpgrade{})
			Expect(now.Status.Holds).To(beHeldBy(infrav1.HoldNotInTurn))
			Expect(now.ResourceVersion).To(Equal(cmp.Or(version, now.ResourceVersion)), "nothing is written again")
			version = now.ResourceVersion
		}
		Expect(w.slots(ctx)).To(BeEmpty())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("to be upgraded comes for a node although one before it is held still", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		other := w.addOther(ctx, "b", infrav1.NodeUpgradeOption{AllowQuorumLoss: true})
		w.owners.closed = "the namespace has opted out"
		both := map[string]*agent{w.upgrade: w.agent, "upgrade-b": other}
		w.playAll(ctx, both)
		w.owners.closed = ""
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = true })
		w.playAll(ctx, both)
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.playAll(ctx, both)
		Expect(w.statusOf(ctx, "upgrade-b").Steps).To(ContainElement(HaveField("Name", "Reboot")))
	})

	It("does not come while the template is paused, which stops the rollout between two nodes", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.patched(ctx)
		pauseTemplate := func(annotations map[string]string) {
			change(ctx, w, templateName, &infrav1.ElementalMachineTemplate{}, func(template *infrav1.ElementalMachineTemplate) { template.Annotations = annotations })
		}
		pauseTemplate(map[string]string{clusterv1.PausedAnnotation: ""})
		w.drive(ctx, nil)
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldTemplatePaused))
		Expect(w.slots(ctx)).To(BeEmpty())
		pauseTemplate(nil)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("does not come where an attempt of its rollout has not ended well, until that is removed from the record", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		stop := func(by string) {
			change(ctx, w, rolloutName, &infrav1.ElementalRollout{}, func(of *infrav1.ElementalRollout) { of.Spec.StoppedBy = by })
		}
		stop("another")
		w.drive(ctx, nil)
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldRolloutStopped))
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil(), "it is not asked to fetch")

		stop("")
		w.drive(ctx, func() bool { return w.status(ctx).Step == "Prefetch" })
		stop("another")
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Admit (4/14)"))
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldRolloutStopped))
		Expect(w.slots(ctx)).To(BeEmpty())
		stop("")
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	It("does not come while the owner of its Machine is paused", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		set := ownertest.MachineSet(ownertest.MachineDeployment(w.namespace, "md", clusterName, templateName, 1), "ms", templateName, 1)
		set.OwnerReferences = nil
		set.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		Expect(live.Create(ctx, set)).To(Succeed())
		change(ctx, w, w.host, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
			machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet"))}
		})
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("Admit (4/14)"))
		Expect(holdsIn(ctx, w)).To(beHeldBy(infrav1.HoldOwnerPaused))
		Expect(w.status(ctx).Message).To(Equal("MachineSet ms is paused: remove its annotation " + clusterv1.PausedAnnotation))
		change(ctx, w, "ms", &clusterv1.MachineSet{}, func(set *clusterv1.MachineSet) { set.Annotations = nil })
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSucceeded))
	})

	DescribeTable("does not come for others any more where it", func(ctx SpecContext, change func(context.Context, *world), end infrav1.UpgradePhase) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.patched(ctx)
		change(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(end))
		Expect(w.rolloutNow(ctx).StoppedBy).To(Equal(w.upgrade))
	},
		Entry("fails", func(_ context.Context, w *world) { w.agent.failsAt = infrav1.HostUpgradeFetched }, infrav1.UpgradeFailed),
		Entry("rolls back", func(_ context.Context, w *world) { w.agent.fallsBack = true }, infrav1.UpgradeRolledBack),
		Entry("is cancelled", func(ctx context.Context, w *world) {
			change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true })
		}, infrav1.UpgradeAborted),
	)
})
