// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// scenario leads an attempt to one of its ends.
type scenario struct {
	options infrav1.NodeUpgradeOption
	// prepare is what is so from the beginning; may be nil.
	prepare func(ctx context.Context, w *world)
	// when the attempt shows this message, then happens; nothing happens while it is empty.
	when string
	then func(ctx context.Context, w *world)
	// message that the attempt ends with, with HOST for the host's name.
	message string
	// marks that are left.
	marks marks
}

var keepCordoned = infrav1.NodeUpgradeOption{OnRollback: infrav1.RollbackKeepCordoned}

// rolledBack is what is left after a roll-back, apart from the cordon.
var rolledBack = marks{
	Phase: infrav1.UpgradeRolledBack, Pin: newDigest, OS: oldDigest,
	Quarantine: "HOST",
}

func with(base marks, edit func(*marks)) marks {
	edit(&base)
	return base
}

func cordonedByUs(m *marks) { m.Unschedulable, m.CordonedBy = true, "ours" }

func fallBack(_ context.Context, w *world) { w.agent.fallsBack = true }

func fallBackUnhealthy(_ context.Context, w *world) {
	w.agent.fallsBack, w.agent.unhealthy = true, true
}

func failAt(phase infrav1.HostUpgradePhase) func(context.Context, *world) {
	return func(_ context.Context, w *world) { w.agent.failsAt = phase }
}

func wantOther(_ context.Context, w *world) { w.owners.hash = "other" }

func cancel(ctx context.Context, w *world) {
	change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) { u.Spec.Cancel = true })
}

// beginUnheard: the agent has seen the trigger and stored its marker, and its report is still on its way.
func beginUnheard(ctx context.Context, w *world) {
	host := get(ctx, w, w.host, &infrav1.ElementalHost{})
	w.agent.applied = append(w.agent.applied, w.agent.marker.Attempt)
	w.agent.marker.Phase, w.agent.marker.FromBootID = infrav1.HostUpgradeApplying, host.Status.OS.BootID
}

func sleep(_ context.Context, w *world) { w.agent.stopAt = infrav1.HostUpgradeFetched }

const (
	begunMeanwhile = "Aborted at the moment at which the host begins"
	waitsForAgent  = "waiting for the elemental-agent of ElementalHost HOST to start"
	otherWanted    = "the owner of Machine HOST wants the OS of ElementalMachineTemplate wanted-by-now"
)

// scenarios by the name of what happens. Each is tried undisturbed, and with a controller that dies at
// any of its writes.
var scenarios = map[string]scenario{
	"Succeeded": {message: "Node HOST runs " + newImage, marks: clean},
	"Succeeded with a warning": {
		prepare: func(_ context.Context, w *world) { w.agent.warns = "warning: cloud-init stage post-upgrade failed: y" },
		message: "Node HOST runs " + newImage + ": warning: cloud-init stage post-upgrade failed: y", marks: clean,
	},
	"RolledBack": {
		prepare: fallBack, message: "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot", marks: rolledBack,
	},
	"RolledBack, to be kept cordoned": {
		options: keepCordoned, prepare: fallBack, marks: with(rolledBack, cordonedByUs),
		message: "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot",
	},
	"RolledBack, and the former OS is not good either": {
		prepare: fallBackUnhealthy, marks: with(rolledBack, cordonedByUs),
		message: "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot",
	},
	"Failed before the node is touched": {
		prepare: failAt(infrav1.HostUpgradeFetching), message: "ElementalHost HOST could not be upgraded: no space left",
		marks: marks{Phase: infrav1.UpgradeFailed, OS: oldDigest},
	},
	"Failed before the reboot": {
		prepare: failAt(infrav1.HostUpgradeRebooting), message: "ElementalHost HOST could not be upgraded: no space left",
		marks: marks{Phase: infrav1.UpgradeFailed, OS: oldDigest, Pin: newDigest},
	},
	"HostLost": {
		prepare: func(_ context.Context, w *world) { w.agent.stopAt = infrav1.HostUpgradeRebooting },
		when:    "ElementalHost HOST is rebooting",
		then: func(_ context.Context, w *world) {
			w.clock.SetTime(w.clock.Now().Add(30 * time.Minute))
		},
		message: "ElementalHost HOST has not come back within 30m0s of being triggered: look at its console; its slot is kept until it returns, " +
			"its Machine is deleted, or spec.release is set",
		marks: marks{
			Phase: infrav1.UpgradeHostLost, OS: oldDigest, Pin: newDigest, Unschedulable: true, CordonedBy: "ours", Slots: 1,
			Label: infrav1.InPlaceUpgradePending, Asked: true, BlockMove: true,
		},
	},
	"HostLost while it assesses its boot": {
		prepare: func(_ context.Context, w *world) { w.agent.stopAt = infrav1.HostUpgradeAssessing },
		when:    "ElementalHost HOST is assessing its boot",
		then: func(_ context.Context, w *world) {
			w.clock.SetTime(w.clock.Now().Add(45 * time.Minute))
		},
		message: "ElementalHost HOST came back, and has not assessed its boot within 45m0s: look at its console; its slot is kept until it returns, " +
			"its Machine is deleted, or spec.release is set",
		marks: marks{
			Phase: infrav1.UpgradeHostLost, OS: newDigest, Pin: newDigest, Unschedulable: true, CordonedBy: "ours", Slots: 1,
			Label: infrav1.InPlaceUpgradePending, Asked: true, BlockMove: true,
		},
	},
	"Superseded before the trigger": {
		prepare: attachVolume, when: "waiting for volumes to be detached from Node HOST: pv-1", then: wantOther, message: otherWanted,
		marks: marks{Phase: infrav1.UpgradeSuperseded, OS: oldDigest, Pin: newDigest},
	},
	"Superseded before the host has begun": {
		prepare: sleep, when: waitsForAgent, then: wantOther, message: otherWanted,
		marks: marks{Phase: infrav1.UpgradeSuperseded, OS: oldDigest, Pin: newDigest},
	},
	"Superseded too late": {
		prepare: func(_ context.Context, w *world) { w.agent.stopAt = infrav1.HostUpgradeApplying },
		when:    "ElementalHost HOST is writing " + newImage,
		then:    func(ctx context.Context, w *world) { wantOther(ctx, w); w.agent.stopAt = "" },
		message: "Node HOST runs " + newImage, marks: clean,
	},
	"Superseded when the node is not found good in time": {
		prepare: func(_ context.Context, w *world) { w.agent.down = true },
		when:    "waiting for the kubelet of Node HOST to report the new boot", message: otherWanted,
		then: func(ctx context.Context, w *world) {
			w.clock.SetTime(w.clock.Now().Add(16 * time.Minute))
			wantOther(ctx, w)
		},
		marks: marks{Phase: infrav1.UpgradeSuperseded, OS: newDigest, Pin: newDigest},
	},
	"Superseded after a roll-back": {
		prepare: fallBack, when: "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot", then: wantOther,
		message: "ended as RolledBack; the owner of Machine HOST now wants the OS of ElementalMachineTemplate wanted-by-now",
		marks:   with(rolledBack, func(m *marks) { m.Phase = infrav1.UpgradeSuperseded }),
	},
	"Superseded after a roll-back that was kept cordoned": {
		options: keepCordoned, prepare: fallBack, then: wantOther,
		when:    "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot",
		message: "ended as RolledBack; the owner of Machine HOST now wants the OS of ElementalMachineTemplate wanted-by-now",
		marks:   with(rolledBack, func(m *marks) { m.Phase = infrav1.UpgradeSuperseded }),
	},
	"not Superseded after a roll-back to an OS that is not good either": {
		prepare: fallBackUnhealthy, then: wantOther,
		when:    "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot",
		message: "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot",
		marks:   with(rolledBack, cordonedByUs),
	},
	"not Superseded after a roll-back to an OS that is not good either, to be kept cordoned anyway": {
		options: keepCordoned, prepare: fallBackUnhealthy, then: wantOther,
		when:    "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot",
		message: "ElementalHost HOST runs its former OS again: the wanted snapshot did not boot",
		marks:   with(rolledBack, cordonedByUs),
	},
	"Aborted while paused": {
		options: manual, then: cancel, marks: marks{Phase: infrav1.UpgradeAborted, OS: oldDigest, Pin: newDigest},
		when: "Node HOST is paused: remove its annotation " + infrav1.NodeUpgradePauseAnnotation +
			", or set spec.approved of ElementalHostUpgrade upgrade-a",
		message: "aborted by spec.cancel: delete the ElementalHostUpgrade to try again",
	},
	"Aborted before the host has begun": {
		prepare: sleep, when: waitsForAgent, then: cancel,
		message: "aborted by spec.cancel: delete the ElementalHostUpgrade to try again",
		marks:   marks{Phase: infrav1.UpgradeAborted, OS: oldDigest, Pin: newDigest},
	},
	begunMeanwhile: {
		prepare: sleep, when: waitsForAgent,
		then:    func(ctx context.Context, w *world) { cancel(ctx, w); beginUnheard(ctx, w) },
		message: "Node HOST runs " + newImage + " (spec.cancel comes too late: what the host has started cannot be undone)",
		marks:   clean,
	},
	"somebody else's skip-remediation": {
		prepare: func(ctx context.Context, w *world) {
			change(ctx, w, w.host, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
				m.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: ""}
			})
		},
		message: "Node HOST runs " + newImage,
		marks:   with(clean, func(m *marks) { m.SkipRemediation = true }),
	},
}

// lead leads the attempt to where the scenario leaves the way to success: where something happens or,
// if nothing does, where the condition holds.
func (s scenario) lead(ctx context.Context, w *world, condition func() bool) {
	GinkgoHelper()
	if s.then != nil {
		condition = func() bool { return w.status(ctx).Message == w.inWords(s.when) }
	}
	w.drive(ctx, condition)
	if s.then != nil {
		Expect(w.status(ctx).Message).To(Equal(w.inWords(s.when)))
		s.then(ctx, w)
	}
}

// play leads the attempt to the end of the scenario.
func (s scenario) play(ctx context.Context, w *world) {
	GinkgoHelper()
	s.lead(ctx, w, nil)
	w.drive(ctx, nil)
}

// expected are the scenario's marks in a world.
func (s scenario) expected(w *world) marks {
	if s.marks.Quarantine == "" {
		return s.marks
	}
	return with(s.marks, func(m *marks) { m.Quarantine = newDigest + "=" + w.host })
}

var _ = Describe("An attempt ends", func() {
	for name, s := range scenarios {
		It(name, func(ctx SpecContext) {
			w := newWorld(ctx, s.options)
			if s.prepare != nil {
				s.prepare(ctx, w)
			}
			s.play(ctx, w)
			Expect(w.marks(ctx)).To(Equal(s.expected(w)))
			Expect(w.status(ctx).Message).To(Equal(w.inWords(s.message)))
		})
	}
})

var _ = It("A quarantined image is offered to no other host until one succeeds with it", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	change(ctx, w, clusterName, &infrav1.ElementalCluster{}, func(c *infrav1.ElementalCluster) {
		c.Spec.Quarantine = quarantinedBy("host-x", newDigest)
	})
	w.pin(ctx, newDigest)
	w.drive(ctx, nil)
	Expect(w.marks(ctx).Asked).To(BeFalse())
	Expect(w.status(ctx).Message).To(HavePrefix("Image/" + newDigest + ": is quarantined because it failed on ElementalHost host-x"))

	change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) {
		u.Spec.SkipPreflight = []infrav1.PreflightCheck{"Quarantine"}
	})
	w.drive(ctx, nil)
	Expect(w.marks(ctx).Asked).To(BeFalse())
	Expect(w.status(ctx).Message).To(HaveSuffix("; this check cannot be waived"))

	change(ctx, w, clusterName, &infrav1.ElementalCluster{}, func(c *infrav1.ElementalCluster) {
		c.Spec.Quarantine = quarantinedBy("host-x", "sha256:older")
	})
	w.drive(ctx, nil)
	Expect(w.marks(ctx)).To(Equal(with(clean, func(m *marks) { m.Quarantine = "sha256:older=host-x" })))
})

func quarantinedBy(host string, digests ...string) []infrav1.QuarantinedImage {
	images := []infrav1.QuarantinedImage{}
	for _, digest := range digests {
		images = append(images, infrav1.QuarantinedImage{Digest: digest, Host: host})
	}
	return images
}

var _ = It("The oldest image that a host rolled back from leaves a full quarantine for the next one", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	full := quarantinedBy("", "sha256:banned")
	for i := range infrav1.MaxQuarantine - 1 {
		image := quarantinedBy("host-x", fmt.Sprintf("sha256:%d", i))[0]
		image.Since = metav1.NewTime(time.Unix(int64(1000-i), 0))
		full = append(full, image)
	}
	change(ctx, w, clusterName, &infrav1.ElementalCluster{}, func(c *infrav1.ElementalCluster) { c.Spec.Quarantine = full })
	fallBack(ctx, w)
	w.drive(ctx, nil)
	images, last := get(ctx, w, clusterName, &infrav1.ElementalCluster{}).Spec.Quarantine, infrav1.MaxQuarantine-1
	digests := []string{}
	for _, image := range images[:last] {
		digests = append(digests, image.Digest)
	}
	Expect(digests).To(HaveLen(last))
	Expect(digests).To(ContainElement("sha256:banned"))
	Expect(digests).NotTo(ContainElement(fmt.Sprintf("sha256:%d", last-1)), "the oldest")
	Expect(images[last]).To(SatisfyAll(
		HaveField("Digest", newDigest), HaveField("Host", w.host), HaveField("Since.Time", BeTemporally("~", w.clock.Now(), time.Hour)),
		HaveField("Reason", Not(BeEmpty()))))
})

var _ = It("A quarantine that is full of what users have added stays as it is", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	full := []infrav1.QuarantinedImage{}
	for i := range infrav1.MaxQuarantine {
		full = append(full, quarantinedBy("", fmt.Sprintf("sha256:%d", i))...)
	}
	change(ctx, w, clusterName, &infrav1.ElementalCluster{}, func(c *infrav1.ElementalCluster) { c.Spec.Quarantine = full })
	fallBack(ctx, w)
	w.drive(ctx, nil)
	Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeRolledBack))
	Expect(get(ctx, w, clusterName, &infrav1.ElementalCluster{}).Spec.Quarantine).To(Equal(full))
})

var _ = It("A Machine that is deleted does not take a Node that its host brings down with it", func(ctx SpecContext) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	w.agent.stopAt = infrav1.HostUpgradeRebooting
	w.drive(ctx, nil)
	w.deleteMachine(ctx)
	w.drive(ctx, nil)
	Expect(w.status(ctx).Message).To(Equal(w.inWords("Machine HOST is being deleted: waiting for ElementalHost HOST to finish what it has started")))
	w.agent.stopAt = ""
	w.drive(ctx, nil)
	Expect(w.marks(ctx)).To(Equal(marks{
		Phase: infrav1.UpgradeAborted, OS: newDigest, Pin: newDigest,
		// The Node goes with its Machine: Cluster API drains it next.
		Unschedulable: true, CordonedBy: "ours",
	}))
})

var _ = DescribeTable("An attempt ends when what it is about is gone", func(ctx SpecContext, gone func(ctx context.Context, w *world)) {
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	guardPod(ctx, w)
	w.drive(ctx, nil)
	Expect(w.status(ctx).Position()).To(Equal("Drain (7/14)"))
	gone(ctx, w)
	Expect(live.Delete(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(w.upgrade)})).To(Succeed())
	w.drive(ctx, nil)
	Expect(w.marks(ctx).Gone).To(BeTrue())
	Expect(w.marks(ctx).Slots).To(BeZero())
},
	Entry("the host", func(ctx context.Context, w *world) {
		Expect(live.Delete(ctx, &infrav1.ElementalHost{ObjectMeta: w.meta(w.host)})).To(Succeed())
	}),
	Entry("the Machine", func(ctx context.Context, w *world) {
		Expect(live.Delete(ctx, &clusterv1.Machine{ObjectMeta: w.meta(w.host)})).To(Succeed())
	}),
	Entry("the Node", func(ctx context.Context, w *world) {
		node := &corev1.Node{}
		node.Name = w.host
		Expect(live.Delete(ctx, node)).To(Succeed())
	}),
	Entry("the ElementalCluster", func(ctx context.Context, w *world) {
		Expect(live.Delete(ctx, &infrav1.ElementalCluster{ObjectMeta: w.meta(clusterName)})).To(Succeed())
	}),
	Entry("the Cluster, and with it the workload cluster", func(ctx context.Context, w *world) {
		freeSlots(ctx, w) // nobody is left to whom they belong
		Expect(live.Delete(ctx, &clusterv1.Cluster{ObjectMeta: w.meta(clusterName)})).To(Succeed())
		w.connector.unreachable = true
	}),
)
