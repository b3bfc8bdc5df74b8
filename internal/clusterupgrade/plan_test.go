// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// pool of members in some states, whose Machines are named after it.
func pool(name, template string, states ...clusterupgrade.State) clusterupgrade.Pool {
	made := clusterupgrade.Pool{Name: name, Templates: []*infrav1.ElementalMachineTemplate{{ObjectMeta: metav1.ObjectMeta{Name: template}}}}
	for i, state := range states {
		member := clusterupgrade.Member{State: state, Machine: &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i+1)}}}
		switch state {
		case clusterupgrade.Failed:
			member.Attempt = attempt("failed-"+member.Machine.Name, infrav1.UpgradeRolledBack, "unit broken.service failed")
		case clusterupgrade.Begun, clusterupgrade.Ending, clusterupgrade.Ended:
			member.Attempt = attempt("begun-"+member.Machine.Name, infrav1.UpgradeProgressing, "")
		}
		made.Members = append(made.Members, member)
	}
	return made
}

func attempt(name string, phase infrav1.UpgradePhase, message string) *infrav1.ElementalHostUpgrade {
	return &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     infrav1.ElementalHostUpgradeStatus{Phase: phase, Message: message, Step: "Drain", StepIndex: 7, StepCount: 14},
	}
}

func stage(nodes, soak int32, pools ...string) infrav1.PoolStage {
	made := infrav1.PoolStage{Pools: pools}
	if nodes > 0 {
		made.Nodes = ptr.To(nodes)
	}
	if soak > 0 {
		made.SoakSeconds = ptr.To(soak)
	}
	return made
}

// recorded is a stage that was done at noon.
func recorded(name string) infrav1.ClusterUpgradeStage {
	return infrav1.ClusterUpgradeStage{Name: name, CompletionTime: ptr.To(metav1.NewTime(noon))}
}

// plan whose Preflight is done.
func plan(pools []clusterupgrade.Pool, order ...infrav1.PoolStage) *clusterupgrade.Plan {
	upgrade := &infrav1.ElementalClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: infrav1.ElementalClusterUpgradeSpec{Order: order}}
	upgrade.Status.Stages = []infrav1.ClusterUpgradeStage{recorded(clusterupgrade.StagePreflight), recorded(clusterupgrade.StagePrefetch)}
	return clusterupgrade.NewPlan(upgrade, pools, false)
}

const (
	waiting  = clusterupgrade.Waiting
	begun    = clusterupgrade.Begun
	failed   = clusterupgrade.Failed
	ending   = clusterupgrade.Ending
	ended    = clusterupgrade.Ended
	released = clusterupgrade.Released
	done     = clusterupgrade.Done
)

var _ = Describe("The stages of an order", func() {
	names := func(p *clusterupgrade.Plan) []string {
		found := []string{}
		for _, s := range p.Stages {
			said := s.Name + ":"
			for _, of := range s.Pools {
				said += " " + of.Name
			}
			found = append(found, said)
		}
		return found
	}
	pools := []clusterupgrade.Pool{pool("a", "a", waiting), pool("b", "shared", waiting), pool("c", "shared", waiting), pool("control-plane", "cp", waiting)}

	DescribeTable("have the pools that they name", func(order []infrav1.PoolStage, expected, unknown []string) {
		made := plan(pools, order...)
		Expect(names(made)).To(Equal(expected))
		Expect(made.Unknown()).To(Equal(unknown))
	},
		Entry("by default the control plane first, and then all others by name", nil, []string{"control-plane: control-plane", "a: a", "b: b", "c: c"}, []string{}),
		Entry("all", []infrav1.PoolStage{stage(0, 0, "*")}, []string{"*: a b c control-plane"}, []string{}),
		Entry("a pool that is not named is left alone", []infrav1.PoolStage{stage(0, 0, "a")}, []string{"a: a"}, []string{}),
		Entry("one that shares its template with one that is named goes with it", []infrav1.PoolStage{stage(1, 0, "b"), stage(0, 0, "b"), stage(0, 0, "a")},
			[]string{"b (nodes: 1): b", "b: b c", "a: a"}, []string{}),
		Entry("a name that no pool has", []infrav1.PoolStage{stage(0, 0, "a", "z")}, []string{"a,z: a"}, []string{"z"}),
	)

	It("are by default those of the control plane and of all others together where there are more pools than an order may have", func() {
		many := []clusterupgrade.Pool{pool("control-plane", "cp", waiting)}
		for i := range 65 {
			many = append(many, pool(fmt.Sprintf("pool-%02d", i), "template", waiting))
		}
		Expect(plan(many[:65]).Stages).To(HaveLen(65))
		Expect(plan(many).Stages).To(HaveExactElements(HaveField("Name", "control-plane"), HaveField("Name", "*")))
		nodes, _ := plan(many).Targets()
		Expect(nodes).To(Equal(66))
	})
})

var _ = Describe("The stages where Rancher picks the nodes", func() {
	all := []clusterupgrade.Pool{pool("a", "a", waiting), pool("b", "b", waiting), pool("control-plane", "cp", waiting)}
	etcd := pool("etcd", "etcd", waiting)
	etcd.Members[0].Machine.Labels = map[string]string{"rke.cattle.io/etcd-role": "true"}
	of := func(pools []clusterupgrade.Pool, order ...infrav1.PoolStage) *clusterupgrade.Plan {
		return clusterupgrade.NewPlan(&infrav1.ElementalClusterUpgrade{Spec: infrav1.ElementalClusterUpgradeSpec{Order: order}}, pools, true)
	}

	DescribeTable("are by default", func(pools []clusterupgrade.Pool, expected ...string) {
		names := []string{}
		for _, s := range of(pools).Stages {
			names = append(names, s.Name)
		}
		Expect(names).To(Equal(expected))
		Expect(of(pools).AgainstRancher()).To(BeEmpty())
	},
		Entry("the control plane, and all others", all, "control-plane", "*"),
		Entry("a control plane alone", all[2:], "control-plane"),
		Entry("workers alone", all[:2], "*"),
		Entry("etcd with the control plane", []clusterupgrade.Pool{all[0], all[2], etcd}, "control-plane,etcd", "*"),
	)

	It("are not those of the control plane alone where etcd has nodes of its own", func() {
		made := of([]clusterupgrade.Pool{all[0], all[2], etcd}, stage(0, 0, "control-plane"), stage(0, 0, "*"))
		Expect(made.AgainstRancher()).To(ContainSubstring("those of control-plane, etcd before all others"))
	})

	DescribeTable("are checked", func(order []infrav1.PoolStage, isKept bool) {
		matches := HavePrefix("Rancher drains the nodes of Cluster ")
		if isKept {
			matches = BeEmpty()
		}
		Expect(of(all, order...).AgainstRancher()).To(matches)
		Expect(plan(all, order...).AgainstRancher()).To(BeEmpty(), "where it does not pick them")
	},
		Entry("all at once", []infrav1.PoolStage{stage(0, 0, "*")}, true),
		Entry("the control plane first", []infrav1.PoolStage{stage(0, 60, "control-plane"), stage(0, 0, "*")}, true),
		Entry("a canary of all workers", []infrav1.PoolStage{stage(0, 0, "control-plane"), stage(1, 60, "a", "b"), stage(0, 0, "*")}, true),
		Entry("one pool before another", []infrav1.PoolStage{stage(0, 0, "control-plane"), stage(0, 0, "a"), stage(0, 0, "b")}, false),
		Entry("a canary of one pool", []infrav1.PoolStage{stage(0, 0, "control-plane"), stage(1, 0, "a"), stage(0, 0, "*")}, false),
		Entry("workers before the control plane", []infrav1.PoolStage{stage(0, 0, "a", "b"), stage(0, 0, "control-plane")}, false),
		Entry("no pool but one", []infrav1.PoolStage{stage(0, 0, "a")}, false),
	)
})

var _ = Describe("Whether a node may begin", func() {
	canary := []infrav1.PoolStage{stage(1, 60, "a"), stage(0, 0, "*")}

	DescribeTable("by the stage that the upgrade is at", func(p *clusterupgrade.Plan, machine, expected string) {
		Expect(held(p.Hold(machine, noon))).To(Equal(expected))
	},
		Entry("of the current stage", plan([]clusterupgrade.Pool{pool("a", "a", waiting), pool("b", "b", waiting)}), "a-1", ""),
		Entry("of a later stage", plan([]clusterupgrade.Pool{pool("a", "a", waiting), pool("b", "b", waiting)}), "b-1",
			"NotInStage: it is at stage a, to which this node does not belong"),
		Entry("of a later stage, while a node of the current one is in work", plan([]clusterupgrade.Pool{pool("a", "a", begun), pool("b", "b", waiting)}), "b-1",
			"NotInStage: it is at stage a, to which this node does not belong"),
		Entry("of a later stage, once the others are done", plan([]clusterupgrade.Pool{pool("a", "a", done), pool("b", "b", waiting)}), "b-1", ""),
		Entry("of a later stage, where the host of the last node is lost and released", plan([]clusterupgrade.Pool{pool("a", "a", done, released), pool("b", "b", waiting)}), "b-1", ""),
		Entry("of no stage", plan([]clusterupgrade.Pool{pool("a", "a", waiting), pool("b", "b", waiting)}, stage(0, 0, "a")), "b-1",
			"NotInStage: it is at stage a, to which this node does not belong"),
		Entry("the canary", plan([]clusterupgrade.Pool{pool("a", "a", waiting, waiting)}, canary...), "a-2", ""),
		Entry("a second canary", plan([]clusterupgrade.Pool{pool("a", "a", begun, waiting)}, canary...), "a-2", "StageFull: stage a (nodes: 1) has its nodes"),
		Entry("a second canary, while the first is not known to run the OS", plan([]clusterupgrade.Pool{pool("a", "a", ended, waiting)}, canary...), "a-2", "StageFull: stage a (nodes: 1) has its nodes"),
		Entry("while it is not known how another one ended", plan([]clusterupgrade.Pool{pool("a", "a", ending, waiting)}), "a-2",
			"OutcomePending: how ElementalHostUpgrade begun-a-1 ended is being recorded: see its message if that lasts"),
		Entry("after a canary of which another node is in work", plan([]clusterupgrade.Pool{pool("a", "a", done, begun), pool("b", "b", waiting)}, stage(1, 0, "a"), stage(0, 0, "*")), "b-1", ""),
		Entry("of a pool after one that has no Machines", plan([]clusterupgrade.Pool{pool("b", "b", waiting)}, stage(0, 0, "a"), stage(0, 0, "b")), "b-1",
			"NotInStage: it is at stage a, to which this node does not belong"),
		Entry("while the canary's soak is not recorded", plan([]clusterupgrade.Pool{pool("a", "a", done, waiting)}, canary...), "a-2",
			"Soaking: stage a (nodes: 1) is done, and its soak of 1m0s begins"),
		Entry("when a node has failed", plan([]clusterupgrade.Pool{pool("a", "a", failed, waiting)}), "a-2",
			"RolloutStopped: node a-1 was not upgraded: ElementalHostUpgrade failed-a-1 is RolledBack: unit broken.service failed. Create another ElementalClusterUpgrade, with an image that boots"),
		Entry("when all is done", plan([]clusterupgrade.Pool{pool("a", "a", done, done)}), "a-1", ""),
	)

	It("waits for the soak of a stage, from when it is recorded as done", func() {
		p := plan([]clusterupgrade.Pool{pool("a", "a", done, waiting)}, canary...)
		p.Upgrade.Status.Stages = append(p.Upgrade.Status.Stages, recorded("a (nodes: 1)"))
		Expect(held(p.Hold("a-2", noon.Add(59*time.Second)))).To(Equal("Soaking: stage a (nodes: 1) is done, and it soaks until 2026-11-26T12:01:00Z"))
		Expect(p.SoakEnds(noon.Add(59 * time.Second))).To(Equal(noon.Add(time.Minute)))
		Expect(held(p.Hold("a-2", noon.Add(time.Minute)))).To(BeEmpty())
		Expect(p.SoakEnds(noon.Add(time.Minute))).To(BeZero())
	})

	It("waits for Preflight", func() {
		p := plan([]clusterupgrade.Pool{pool("a", "a", waiting)})
		p.Upgrade.Status.Stages = nil
		Expect(held(p.Hold("a-1", noon))).To(Equal("StageNotReady: its stage Preflight is not done"))
	})

	DescribeTable("by what people ask", func(change func(*infrav1.ElementalClusterUpgrade), expected string) {
		p := plan([]clusterupgrade.Pool{pool("a", "a", waiting)})
		change(p.Upgrade)
		Expect(held(p.Hold("a-1", noon))).To(Equal(expected))
	},
		Entry("paused", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Paused = true }, "UpgradePaused: it is paused: set its spec.paused to false"),
		Entry("cancelled", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.Cancel, u.Spec.Paused = true, true }, "UpgradeCancelled: it is cancelled"),
		Entry("paused by annotation", func(u *infrav1.ElementalClusterUpgrade) {
			u.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		},
			"UpgradePaused: it has the annotation cluster.x-k8s.io/paused"),
		Entry("deleted", func(u *infrav1.ElementalClusterUpgrade) { u.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) }, "UpgradeCancelled: it is cancelled"),
	)
})

var _ = DescribeTable("What an upgrade waits for is", func(state clusterupgrade.State, expected string) {
	of := pool("a", "a", state, waiting)
	of.Members[0].Attempt.Status.Message = "VirtualMachine edge/db cannot be started again (ending as Aborted)"
	Expect(plan([]clusterupgrade.Pool{of}).Message(noon)).To(Equal(expected))
},
	Entry("the step of a node in work", begun, "node a-1 is at Drain (7/14)"),
	Entry("what keeps an attempt from its end, which has given its slot back", ending,
		"node a-1: VirtualMachine edge/db cannot be started again (ending as Aborted)"),
)

var _ = Describe("The nodes that an upgrade is for", func() {
	DescribeTable("are counted once", func(p *clusterupgrade.Plan, nodes, ready int) {
		all, upToDate := p.Targets()
		Expect([]int{all, upToDate}).To(Equal([]int{nodes, ready}))
	},
		Entry("by default", plan([]clusterupgrade.Pool{pool("a", "a", done, waiting), pool("b", "b", waiting)}), 3, 1),
		Entry("of a canary and its pool", plan([]clusterupgrade.Pool{pool("a", "a", done, waiting), pool("b", "b", waiting)}, stage(1, 0, "a"), stage(0, 0, "*")), 3, 1),
		Entry("of a canary alone", plan([]clusterupgrade.Pool{pool("a", "a", done, done, waiting)}, stage(1, 0, "a")), 1, 1),
		Entry("without those whose hosts are lost and released", plan([]clusterupgrade.Pool{pool("a", "a", done, released), pool("b", "b", released)}), 1, 1),
		Entry("of one pool", plan([]clusterupgrade.Pool{pool("a", "a", done, waiting), pool("b", "b", waiting)}, stage(0, 0, "b")), 1, 0),
	)
})

var _ = It("lets no node of another stage begin while the upgrade waits for a gate before it ends", func() {
	p := plan([]clusterupgrade.Pool{pool("a", "a", done, waiting)}, infrav1.PoolStage{Pools: []string{"a"}, Nodes: ptr.To[int32](1)})
	p.Upgrade.Status.Stages = []infrav1.ClusterUpgradeStage{
		recorded(clusterupgrade.StagePreflight), recorded(clusterupgrade.StagePrefetch), recorded("a (nodes: 1)"),
	}
	Expect(held(p.Hold("a-2", noon))).To(BeEmpty())
	p.Upgrade.Spec.Gates = []infrav1.UpgradeGate{{Name: "smoke", Job: &infrav1.GateJob{Image: "smoke"}}}
	Expect(held(p.Hold("a-2", noon))).To(Equal("GateClosed: gate smoke is being evaluated"))
})

// held is a hold in a line; empty for none.
func held(hold *infrav1.UpgradeHold) string {
	if hold == nil {
		return ""
	}
	Expect(hold.Object).To(HavePrefix("ElementalClusterUpgrade/"))
	return string(hold.Reason) + ": " + hold.Message
}
