// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("What a host reports", func(change func(*infrav1.ElementalHostStatus), passes bool) {
	before := &infrav1.ElementalHost{Status: infrav1.ElementalHostStatus{Upgrade: &infrav1.HostUpgradeStatus{
		Attempt: "a", Phase: infrav1.HostUpgradeFetching, Progress: &infrav1.HostUpgradeProgress{Stage: "Download", Bytes: 1, TotalBytes: 9},
	}}}
	after := before.DeepCopy()
	change(&after.Status)
	Expect(hostChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(passes))
},
	Entry("how far it is wakes nobody", func(s *infrav1.ElementalHostStatus) {
		s.Upgrade.Progress.Bytes, s.Agent.LastSeen = 2, metav1.NewTime(time.Unix(1, 0))
	}, false),
	Entry("nor does that something is done", func(s *infrav1.ElementalHostStatus) { s.Upgrade.Progress = nil }, false),
	Entry("a phase does", func(s *infrav1.ElementalHostStatus) { s.Upgrade.Phase = infrav1.HostUpgradeFetched }, true),
	Entry("a message does", func(s *infrav1.ElementalHostStatus) { s.Upgrade.Message = "m" }, true),
)

var _ = DescribeTable("What a host reports that is asked for an attempt", func(before, after infrav1.HostUpgradePhase, passes bool) {
	Expect(hostChanged().Update(event.UpdateEvent{ObjectOld: asked(before), ObjectNew: asked(after)})).To(Equal(passes))
},
	Entry("is that it must not be interrupted", infrav1.HostUpgradeFetched, infrav1.HostUpgradeApplying, true),
	Entry("is not what it does before", infrav1.HostUpgradeFetching, infrav1.HostUpgradeFetched, false),
	Entry("is not what it does then", infrav1.HostUpgradeApplying, infrav1.HostUpgradeRebooting, false),
	Entry("is the end", infrav1.HostUpgradeAssessing, infrav1.HostUpgradeRolledBack, true),
)

var _ = It("The mark that blocks a move of a host wakes nobody", func() {
	marked := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.BlockMoveAnnotation: ""}}}
	Expect(hostChanged().Update(event.UpdateEvent{ObjectOld: &infrav1.ElementalHost{}, ObjectNew: marked})).To(BeFalse())
})

func asked(phase infrav1.HostUpgradePhase) *infrav1.ElementalHost {
	return &infrav1.ElementalHost{
		Spec:   infrav1.ElementalHostSpec{Upgrade: &infrav1.HostUpgradeRequest{Attempt: "a"}},
		Status: infrav1.ElementalHostStatus{Upgrade: &infrav1.HostUpgradeStatus{Attempt: "a", Phase: phase}},
	}
}
