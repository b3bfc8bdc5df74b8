// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// obstacles each keep an attempt from a slot, in the order in which they are reported.
func obstacles() []func(*admission) infrav1.HoldReason {
	by := func(reason infrav1.HoldReason, set func(*admission, *hold)) func(*admission) infrav1.HoldReason {
		return func(a *admission) infrav1.HoldReason {
			set(a, infrav1.NewHold(reason, "Kind/name", "because"))
			return reason
		}
	}
	return []func(*admission) infrav1.HoldReason{
		func(a *admission) infrav1.HoldReason {
			a.upgrade.Status.Digest = "sha256:bad"
			a.elementalCluster.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: "sha256:bad"}}
			return infrav1.HoldImageQuarantined
		},
		by(infrav1.HoldNamespaceNotOptedIn, func(a *admission, h *hold) { a.optOut = h }),
		by(infrav1.HoldOwnerRollingOut, func(a *admission, h *hold) { a.rollsOut = h }),
		func(a *admission) infrav1.HoldReason {
			occupied := holding(slotOf("a"))
			a.slots.taken, a.slots.holders = append(a.slots.taken, occupied.taken...), append(a.slots.holders, occupied.holders...)
			a.options.MaxConcurrent = 1
			return infrav1.HoldNoSlot
		},
		func(a *admission) infrav1.HoldReason {
			a.machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
			occupied := holding(infrav1.UpgradeSlot{Upgrade: "b", ControlPlane: true})
			a.slots.taken, a.slots.holders = append(a.slots.taken, occupied.taken...), append(a.slots.holders, occupied.holders...)
			return infrav1.HoldControlPlaneBusy
		},
		func(a *admission) infrav1.HoldReason {
			evacuating := attempt("z", "1", past(stepCordon))
			a.slots.holders, a.evacuates = append(a.slots.holders, &evacuating), true
			return infrav1.HoldEvacuationBusy
		},
		by(infrav1.HoldWindowClosed, func(a *admission, h *hold) { a.order = h }),
		by(infrav1.HoldClusterUnreachable, func(a *admission, h *hold) { a.unreadable = h }),
		func(a *admission) infrav1.HoldReason {
			a.checks = []infrav1.PreflightResult{{Check: "NodeReady", Verdict: infrav1.PreflightBlock, Object: "Node/n", Message: "is not Ready"}}
			return infrav1.HoldPreflightFailed
		},
		by(infrav1.HoldGateClosed, func(a *admission, h *hold) { a.gate = h }),
		by(infrav1.HoldDesiredOSUnknown, func(a *admission, h *hold) { a.unwanted = h }),
	}
}

func reasonsOf(a *admission) []infrav1.HoldReason {
	reasons := []infrav1.HoldReason{}
	for _, held := range a.holds() {
		reasons = append(reasons, held.Reason)
	}
	return reasons
}

var _ = Describe("The holds of Admit", func() {
	It("are none where nothing stands in the way", func() {
		Expect(reasonsOf(&admission{observation: typical(func(o *observation) { o.options.MaxConcurrent = 9 })})).To(BeEmpty())
	})

	It("are reported in one order, whichever of them there are, and in whichever order they came", func() {
		all := obstacles()
		for subset := 1; subset < 1<<len(all); subset++ {
			for _, backwards := range []bool{false, true} {
				a := &admission{observation: typical(func(o *observation) { o.options.MaxConcurrent = 9 })}
				expected := make([]infrav1.HoldReason, 0, len(all))
				for i := range all {
					at := i
					if backwards {
						at = len(all) - 1 - i
					}
					if subset&(1<<at) == 0 {
						continue
					}
					reason := all[at](a)
					if backwards {
						expected = append([]infrav1.HoldReason{reason}, expected...)
					} else {
						expected = append(expected, reason)
					}
				}
				found := reasonsOf(a)
				// Attempts that have slots may evacuate their nodes, too.
				Expect(found).To(ContainElements(expected), fmt.Sprintf("subset %b", subset))
				Expect(inOrder(found)).To(BeTrue(), fmt.Sprintf("subset %b: %v", subset, found))
			}
		}
	})

	It("name no holder of a slot as their object, since those change all the time", func() {
		for _, obstacle := range obstacles()[3:6] {
			a := &admission{observation: typical(func(o *observation) { o.options.MaxConcurrent = 9 })}
			obstacle(a)
			Expect(a.holds()).To(HaveEach(HaveField("Object", "Cluster/c")))
		}
	})
})

// inOrder reports whether reasons are in the order of obstacles.
func inOrder(reasons []infrav1.HoldReason) bool {
	position := map[infrav1.HoldReason]int{}
	for i, obstacle := range obstacles() {
		position[obstacle(&admission{observation: typical()})] = i
	}
	for i := 1; i < len(reasons); i++ {
		if position[reasons[i-1]] > position[reasons[i]] {
			return false
		}
	}
	return true
}
