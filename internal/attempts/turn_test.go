// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts_test

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
)

type change = func(*infrav1.ElementalHostUpgrade)

func turnOf(changes ...change) *infrav1.ElementalHostUpgrade {
	upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u"}}
	upgrade.Status.Phase = infrav1.UpgradeProgressing
	for _, change := range changes {
		change(upgrade)
	}
	return upgrade
}

func onControlPlane(u *infrav1.ElementalHostUpgrade) {
	u.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
}

func heldBy(reasons ...infrav1.HoldReason) change {
	return func(u *infrav1.ElementalHostUpgrade) {
		for _, reason := range reasons {
			u.Status.Holds = append(u.Status.Holds, *infrav1.NewHold(reason, "", ""))
		}
	}
}

func cordoned(u *infrav1.ElementalHostUpgrade) {
	u.Status.Steps = []infrav1.UpgradeStepStatus{{Name: attempts.StepCordon}}
}

func admitted(u *infrav1.ElementalHostUpgrade) {
	conditions.Set(u, metav1.Condition{Type: infrav1.UpgradeAdmittedCondition, Status: metav1.ConditionTrue, Reason: infrav1.UpgradeAdmittedReason})
}

func inPhase(phase infrav1.UpgradePhase) change {
	return func(u *infrav1.ElementalHostUpgrade) { u.Status.Phase = phase }
}

var _ = DescribeTable("The nodes after that of an attempt wait for it", func(expected bool, changes ...change) {
	Expect(attempts.Precedes(turnOf(changes...))).To(Equal(expected))
},
	Entry("before it is looked at", true, inPhase("")),
	Entry("while it prepares", true),
	Entry("while it waits for a slot", true, heldBy(infrav1.HoldNoSlot, infrav1.HoldControlPlaneBusy)),
	Entry("while it waits for its own turn", true, heldBy(infrav1.HoldNotInTurn)),
	Entry("while other hosts fetch", true, heldBy(infrav1.HoldPrefetchBusy)),
	Entry("not while the virtual machines of another node have to leave first", false, heldBy(infrav1.HoldEvacuationBusy)),
	Entry("not while a user holds it", false, heldBy(infrav1.HoldNodePaused)),
	Entry("not while its host does not report", false, heldBy(infrav1.HoldHostNotReporting)),
	Entry("not while a stage holds it", false, heldBy(infrav1.HoldNoSlot, infrav1.HoldNotInStage)),
	Entry("not when it has its slot", false, cordoned, admitted),
	Entry("also when it has its slot, on a control plane", true, cordoned, admitted, onControlPlane),
	Entry("not when it has released its slot, on a control plane", false, cordoned, onControlPlane),
	Entry("not when a user holds it with its slot, on a control plane", false, cordoned, admitted, onControlPlane, heldBy(infrav1.HoldPreflightFailed)),
	Entry("not when its host is lost", false, inPhase(infrav1.UpgradeHostLost)),
	Entry("not when it has ended", false, inPhase(infrav1.UpgradeFailed)),
	Entry("not when it is deleted", false, func(u *infrav1.ElementalHostUpgrade) { u.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }),
)

var _ = It("Attempts are in order by control plane, Node, host and name", func() {
	named := func(name, node, host string, changes ...change) *infrav1.ElementalHostUpgrade {
		upgrade := turnOf(changes...)
		upgrade.Name, upgrade.Status.NodeName, upgrade.Spec.HostName = name, node, host
		return upgrade
	}
	all := []*infrav1.ElementalHostUpgrade{
		named("e", "node-3", "host-0"), named("d", "", "host-9"), named("c", "node-1", "host-5"), named("b", "node-1", "host-5"), named("a", "node-8", "", onControlPlane),
	}
	slices.SortFunc(all, attempts.InOrder)
	names := []string{}
	for _, upgrade := range all {
		names = append(names, upgrade.Name)
	}
	Expect(names).To(Equal([]string{"a", "d", "b", "c", "e"}))
})

var _ = DescribeTable("The host of an attempt fetches its image", func(expected bool, step string, changes ...change) {
	upgrade := turnOf(changes...)
	upgrade.Status.Step = step
	Expect(attempts.IsFetching(upgrade)).To(Equal(expected))
},
	Entry("at Prefetch", true, "Prefetch"),
	Entry("not before", false, "Preflight"),
	Entry("not after", false, "Admit"),
	Entry("not when it has stopped to report", false, "Prefetch", heldBy(infrav1.HoldHostNotReporting)),
	Entry("not when it cannot", false, "Prefetch", heldBy(infrav1.HoldImageNotFetched)),
	Entry("when its registry does not answer, which may do so at any moment", true, "Prefetch", heldBy(infrav1.HoldImageNotResolved)),
	Entry("not when it has ended", false, "Prefetch", inPhase(infrav1.UpgradeFailed)),
)

var _ = Describe("The names of the attempts of a rollout", func() {
	It("are sorted as their nodes are upgraded", func() {
		controlPlane := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "z", Labels: map[string]string{clusterv1.MachineControlPlaneLabel: ""}}}
		worker := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		names := []string{
			attempts.NameFor(controlPlane, "z-1", "r"), attempts.NameFor(controlPlane, "z-2", "r"), attempts.NameFor(worker, "a-1", "r"), attempts.NameFor(worker, "b-1", "r"),
		}
		Expect(slices.IsSorted(names)).To(BeTrue(), "%s", names)
	})
})
