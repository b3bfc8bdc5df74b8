// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// ofRollout is an attempt of a rollout, whose image is resolved or not.
func ofRollout(name, rollout, digest string) func(*observation) {
	return func(o *observation) {
		o.upgrade.Name, o.upgrade.Spec.RolloutName = name, rollout
		o.attempt = attemptOf(o.upgrade)
		o.rollout = &infrav1.ElementalRollout{ObjectMeta: metav1.ObjectMeta{Name: rollout}, Spec: infrav1.ElementalRolloutSpec{ImageDigest: digest}}
	}
}

func fetching(name, rollout string) infrav1.ElementalHostUpgrade {
	found := attempt(name, "1", at(stepPrefetch, 0))
	found.Spec.RolloutName = rollout
	return found
}

var _ = Describe("The hosts that fetch an image at a time", func() {
	reserves := func(f *fetches, o *observation, others ...infrav1.ElementalHostUpgrade) bool {
		_, reserved := f.reserve(o, others)
		return reserved
	}

	It("are one of a rollout until its image is resolved", func() {
		f := &fetches{}
		Expect(reserves(f, typical(ofRollout("a", "r", "")))).To(BeTrue())
		Expect(reserves(f, typical(ofRollout("b", "r", "")))).To(BeFalse(), "the first was asked")
		Expect(reserves(f, typical(ofRollout("a", "r", "")))).To(BeTrue(), "it takes no second place")
		Expect(reserves(&fetches{}, typical(ofRollout("b", "r", "")), fetching("a", "r"))).To(BeFalse(), "the first fetches")
		Expect(reserves(f, typical(ofRollout("c", "other", "")))).To(BeTrue(), "of another rollout none was asked")
		Expect(reserves(f, typical(ofRollout("b", "r", "sha256:1")))).To(BeTrue(), "it is resolved")
	})

	It("are ten in a Cluster", func() {
		f, others := &fetches{}, []infrav1.ElementalHostUpgrade{}
		for i := range 4 {
			others = append(others, fetching(fmt.Sprintf("fetches-%d", i), fmt.Sprintf("r%d", i)))
		}
		for i := range 6 {
			Expect(reserves(f, typical(ofRollout(fmt.Sprintf("asked-%d", i), "r", "sha256:1")), others...)).To(BeTrue())
		}
		Expect(reserves(f, typical(ofRollout("late", "r", "sha256:1")), others...)).To(BeFalse())
		elsewhere := typical(ofRollout("late", "r", "sha256:1"), func(o *observation) { o.upgrade.Spec.ClusterName = "other" })
		Expect(reserves(f, elsewhere)).To(BeTrue())
		Expect(reserves(f, typical(ofRollout("late", "r", "sha256:1")), others[1:]...)).To(BeTrue(), "one has fetched it")
	})

	It("count none twice that was asked and fetches by now", func() {
		f := &fetches{}
		first := fetching("a", "r")
		asked := typical(ofRollout("a", "r", ""), func(o *observation) { o.attempt = attemptOf(&first) })
		Expect(reserves(f, asked)).To(BeTrue())
		Expect(reserves(f, typical(ofRollout("b", "r", "")), first)).To(BeFalse())
		Expect(reserves(f, typical(ofRollout("b", "r", "")))).To(BeTrue(), "it has fetched the image, and the next one is not held by what was asked of it")
	})

	It("release their place when they have fetched it", func() {
		f := &fetches{}
		for i := range 10 {
			Expect(reserves(f, typical(ofRollout(fmt.Sprintf("asked-%d", i), "r", "sha256:1")))).To(BeTrue())
		}
		late := typical(ofRollout("late", "r", "sha256:1"))
		Expect(reserves(f, late)).To(BeFalse())
		first := typical(ofRollout("asked-0", "r", "sha256:1"))
		Expect(f.wasAsked(first)).To(BeTrue())
		f.release(first)
		Expect(f.wasAsked(first)).To(BeFalse())
		Expect(reserves(f, late)).To(BeTrue())
	})

	It("lose their turn where they do not answer", func() {
		f := &fetches{}
		Expect(reserves(f, typical(ofRollout("silent", "r", "")))).To(BeTrue())
		later := func(o *observation) { o.now = o.now.Add(answerTime - 10*time.Second) }
		after, reserved := f.reserve(typical(ofRollout("b", "r", ""), later), nil)
		Expect(reserved).To(BeFalse())
		Expect(after).To(Equal(10 * time.Second))
		Expect(reserves(f, typical(ofRollout("b", "r", ""), func(o *observation) { o.now = o.now.Add(answerTime) }))).To(BeTrue())
	})
})

var _ = DescribeTable("A host that fetches and has", func(silent time.Duration, held bool) {
	o := typical(func(o *observation) { o.host.Status.Agent.LastSeen = metav1.NewTime(o.now.Add(-silent)) })
	result := o.awaitFetched("oci://new")
	if !held {
		Expect(result.Holds).To(BeEmpty())
		return
	}
	Expect(result.Holds).To(HaveExactElements(SatisfyAll(HaveField("Reason", infrav1.HoldHostNotReporting), HaveField("Who", infrav1.HoldByHost))))
},
	Entry("just reported its progress is waited for", time.Duration(0), false),
	Entry("reported nothing new for a while is waited for", fetchSilence-time.Second, false),
	Entry("reported nothing new for long holds its attempt", fetchSilence, true),
)

var _ = It("A host that cannot fetch the image holds its attempt, and says why", func() {
	o := typical(reported(infrav1.HostUpgradeFetching))
	o.host.Status.Upgrade.Message, o.host.Status.Upgrade.Digest = "the registry is away", ""
	Expect(o.awaitFetched("oci://new").Holds).To(HaveExactElements(SatisfyAll(
		HaveField("Reason", infrav1.HoldImageNotResolved), HaveField("Who", infrav1.HoldByUser), HaveField("Message", HaveSuffix("and tries again: the registry is away")))))
	o.host.Status.Upgrade.Digest = "sha256:1"
	Expect(o.awaitFetched("oci://new").Holds).To(HaveExactElements(HaveField("Reason", infrav1.HoldImageNotFetched)))

	By("being out of service meanwhile")
	o.upgrade.Status.Holds = []infrav1.UpgradeHold{{Reason: infrav1.HoldImageNotFetched, Since: metav1.NewTime(o.now.Add(-fetchSilence))}}
	Expect(o.awaitFetched("oci://new").IsEnd()).To(BeFalse())
	o.upgrade.Status.Steps = append(o.upgrade.Status.Steps, infrav1.UpgradeStepStatus{Name: stepCordon})
	Expect(o.awaitFetched("oci://new")).To(HaveField("Outcome", string(infrav1.UpgradeFailed)))
})

var _ = DescribeTable("An attempt that ends", func(expected bool, changes ...func(*observation)) {
	Expect(typical(append([]func(*observation){ofRollout("u", "r", ""), byTemplate}, changes...)...).stops()).To(Equal(expected))
},
	Entry("badly stops its rollout", true),
	Entry("badly where Cluster API waits does not", false, func(o *observation) { o.upgrade.Spec.Driver = infrav1.DriverClusterAPI }),
	Entry("badly before Rancher drains its node does", true, byRancher),
	Entry("badly in a drain of Rancher, which waits, does not", false, byRancher, outOfService),
	Entry("since a user has it that Rancher goes on without it does not", false, byRancher, cancelled),
	Entry("badly in a rollout that is stopped leaves that as it is", false, func(o *observation) { o.rollout.Spec.StoppedBy = "another" }),
	Entry("badly and was of no rollout stops none", false, func(o *observation) { o.rollout = nil }),
	Entry("with its Machine does not", false, func(o *observation) { o.machine.DeletionTimestamp = &metav1.Time{Time: noon} }),
	Entry("with its host, whose Machine goes on with another, does not", false, func(o *observation) { o.host = nil }),
	Entry("by its deletion does not", false, func(o *observation) { o.upgrade.DeletionTimestamp = &metav1.Time{Time: noon} }),
	Entry("as lost, and is released, does not", false, func(o *observation) { o.upgrade.Spec.Release = true }),
)

func byRancher(o *observation) { o.upgrade.Spec.Driver = infrav1.DriverRancherDrain }

var _ = It("A rollout that is stopped holds an attempt in a drain of Rancher from fetching its image, and not from its slot", func() {
	o := typical(ofRollout("u", "r", ""), byRancher)
	o.rollout.Spec.StoppedBy = "another"
	Expect(o.stopped()).To(HaveField("Reason", infrav1.HoldRolloutStopped))
	Expect((&admission{observation: o}).stoppedAtAdmit()).To(BeNil())
	byTemplate(o)
	Expect((&admission{observation: o}).stoppedAtAdmit()).To(HaveField("Reason", infrav1.HoldRolloutStopped))
})

var _ = DescribeTable("A rollout that is stopped", func(by string, expected infrav1.HoldReason) {
	o := typical(ofRollout("u", "r", ""))
	o.rollout.Spec.StoppedBy = by
	if expected == "" {
		Expect(o.stopped()).To(BeNil())
		return
	}
	Expect(o.stopped()).To(SatisfyAll(HaveField("Reason", expected), HaveField("Object", "ElementalHostUpgrade/"+by)))
},
	Entry("holds the others", "another", infrav1.HoldRolloutStopped),
	Entry("does not hold the one that is tried again", "u", infrav1.HoldReason("")),
	Entry("by none holds none", "", infrav1.HoldReason("")),
)
