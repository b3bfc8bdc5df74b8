// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
)

const (
	digestA = "sha256:a"
	digestB = "sha256:b"
)

// nodesToFetch is a plan of so many nodes "a-1", ..., whose hosts are "h-1", ...
func nodesToFetch(states ...clusterupgrade.State) *clusterupgrade.Plan {
	p := plan([]clusterupgrade.Pool{pool("a", "a", states...)})
	p.Upgrade.Spec.OSVersion.ImageURI = "oci://r/os:2"
	for i := range p.Pools[0].Members {
		member := &p.Pools[0].Members[i]
		member.Elemental = &infrav1.ElementalMachine{Spec: infrav1.ElementalMachineSpec{HostRef: &infrav1.LocalReference{Name: fmt.Sprintf("h-%d", i+1)}}}
		member.Template = &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	}
	return p
}

// prepares has the attempt on a node at a step.
func prepares(p *clusterupgrade.Plan, node int, change func(*infrav1.ElementalHostUpgradeStatus)) *clusterupgrade.Plan {
	attempt := &infrav1.ElementalHostUpgrade{}
	attempt.Status.Phase = infrav1.UpgradeProgressing
	change(&attempt.Status)
	p.Pools[0].Members[node-1].Attempt = attempt
	return p
}

func fetches(status *infrav1.ElementalHostUpgradeStatus) { status.Step = attempts.StepPrefetch }

func hasFetched(status *infrav1.ElementalHostUpgradeStatus) {
	status.Step, status.Digest = "Admit", digestA
	status.Steps = []infrav1.UpgradeStepStatus{{Name: attempts.StepPrefetch, CompletionTime: &metav1.Time{}}}
	status.Holds = []infrav1.UpgradeHold{{Reason: infrav1.HoldStageNotReady}}
}

func heldBy(reason infrav1.HoldReason) func(*infrav1.ElementalHostUpgradeStatus) {
	return func(status *infrav1.ElementalHostUpgradeStatus) {
		fetches(status)
		status.Holds, status.Message = []infrav1.UpgradeHold{{Reason: reason}}, "says something"
	}
}

func ofTemplate(p *clusterupgrade.Plan, change func(*infrav1.ElementalMachineTemplate)) *clusterupgrade.Plan {
	for i := range p.Pools[0].Members {
		change(p.Pools[0].Members[i].Template)
	}
	return p
}

var _ = Describe("Stage Prefetch", func() {
	DescribeTable("says what it waits for", func(p *clusterupgrade.Plan, fetched, nodes int, message, without string) {
		Expect(p.Fetch()).To(Equal(clusterupgrade.Fetch{Nodes: nodes, Fetched: fetched, Message: message, Without: without}))
	},
		Entry("attempts that are to come", nodesToFetch(waiting, waiting), 0, 2, "0 of 2 nodes have the image; waiting for an ElementalHostUpgrade of a-1, a-2", ""),
		Entry("hosts that fetch it", prepares(prepares(nodesToFetch(waiting, waiting), 1, hasFetched), 2, fetches), 1, 2, "1 of 2 nodes have the image; fetching it: a-2", ""),
		Entry("hosts whose turn is to come", prepares(nodesToFetch(waiting), 1, heldBy(infrav1.HoldPrefetchBusy)), 0, 1, "0 of 1 nodes have the image; fetching it: a-1", ""),
		Entry("what a user has to end", prepares(nodesToFetch(waiting, waiting), 2, heldBy(infrav1.HoldImageNotFetched)), 0, 2, "node a-2: says something", ""),
		Entry("a digest in quarantine", prepares(nodesToFetch(waiting), 1, heldBy(infrav1.HoldImageQuarantined)), 0, 1, "node a-1: says something", ""),
		Entry("another attempt where a former one had fetched it", prepares(nodesToFetch(waiting), 1, func(status *infrav1.ElementalHostUpgradeStatus) {
			hasFetched(status)
			status.Phase = infrav1.UpgradeSuperseded
		}), 0, 1, "0 of 1 nodes have the image; waiting for an ElementalHostUpgrade of a-1", ""),
		Entry("a host that is missing", func() *clusterupgrade.Plan {
			p := nodesToFetch(waiting)
			p.Pools[0].Members[0].Elemental.Spec.HostRef = nil
			return p
		}(), 0, 1, "Machine a-1 has no host yet: register one for it, or scale its pool down", ""),
		Entry("a template that is not rolled out", ofTemplate(nodesToFetch(waiting), func(t *infrav1.ElementalMachineTemplate) {
			conditions.Set(t, metav1.Condition{Type: infrav1.RolloutBlockedCondition, Status: metav1.ConditionTrue, Message: "it is blocked"})
		}), 0, 1, "ElementalMachineTemplate a is not rolled out: it is blocked", ""),
		Entry("nothing of nodes that run the OS, or are in work", nodesToFetch(begun, done), 1, 1, "", ""),
		Entry("nothing where Cluster API starts the update of each Machine", ofTemplate(nodesToFetch(waiting), func(t *infrav1.ElementalMachineTemplate) {
			t.Labels = map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""}
		}), 0, 0, "", "the hosts of a-1 fetch the image when they have an ElementalHostUpgrade: Cluster API starts it, it is paused, or Rancher asks no hooks"),
		Entry("nothing of a template that is paused", ofTemplate(nodesToFetch(waiting), func(t *infrav1.ElementalMachineTemplate) {
			t.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}), 0, 0, "", "the hosts of a-1 fetch the image when they have an ElementalHostUpgrade: Cluster API starts it, it is paused, or Rancher asks no hooks"),
		Entry("nothing of nodes that Rancher does not ask for", ofTemplate(nodesToFetch(waiting), func(t *infrav1.ElementalMachineTemplate) {
			conditions.Set(t, metav1.Condition{Type: infrav1.RolloutBlockedCondition, Status: metav1.ConditionTrue, Reason: infrav1.DrainHooksMissingReason})
		}), 0, 0, "", "the hosts of a-1 fetch the image when they have an ElementalHostUpgrade: Cluster API starts it, it is paused, or Rancher asks no hooks"),
		Entry("nothing of a Machine that is paused, and whose attempt is held by that", func() *clusterupgrade.Plan {
			p := prepares(nodesToFetch(waiting), 1, heldBy(infrav1.HoldPreflightFailed))
			p.Pools[0].Members[0].Machine.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			return p
		}(), 0, 0, "", "the hosts of a-1 fetch the image when they have an ElementalHostUpgrade: Cluster API starts it, it is paused, or Rancher asks no hooks"),
		Entry("nothing of a Machine that Cluster API moves to another template", func() *clusterupgrade.Plan {
			p := nodesToFetch(waiting)
			p.Pools[0].Members[0].Elemental.Annotations = map[string]string{
				clusterv1.TemplateClonedFromNameAnnotation:      "former",
				clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.GroupVersion.WithKind("ElementalMachineTemplate").GroupKind().String(),
			}
			return p
		}(), 0, 0, "", "the hosts of a-1 fetch the image when they have an ElementalHostUpgrade: Cluster API starts it, it is paused, or Rancher asks no hooks"),
	)

	DescribeTable("gets a digest", func(p *clusterupgrade.Plan, runs, expected string) {
		host := &infrav1.ElementalHost{}
		host.Status.OS = infrav1.HostOS{ImageURI: "oci:r/os:2", Digest: runs}
		Expect(p.Resolved(map[string]*infrav1.ElementalHost{"h-2": host})).To(Equal(expected))
	},
		Entry("not before a host has resolved it", prepares(nodesToFetch(waiting), 1, fetches), "", ""),
		Entry("of the first host that has", prepares(nodesToFetch(waiting), 1, hasFetched), "", digestA),
		Entry("of a node that runs it already, although the tag has moved", prepares(nodesToFetch(waiting, done), 1, hasFetched), digestB, digestB),
	)

	It("is waited for before a node begins", func() {
		p := plan([]clusterupgrade.Pool{pool("a", "a", waiting)})
		p.Upgrade.Status.Stages = []infrav1.ClusterUpgradeStage{recorded(clusterupgrade.StagePreflight)}
		Expect(held(p.Hold("a-1", noon))).To(Equal("StageNotReady: its stage Prefetch is not done"))
	})
})
