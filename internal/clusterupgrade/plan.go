// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade/window"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// maxPools for each of which an upgrade has a stage by default, as many as spec.order may have: status.stages has a bound.
const maxPools = 64

// Plan is what an upgrade has before it, and what of it is done.
type Plan struct {
	Upgrade *infrav1.ElementalClusterUpgrade
	// Pools of the Cluster, by name.
	Pools []Pool
	// Stages in their order.
	Stages []Stage
	// RancherDrains says that Rancher has provisioned the Cluster: it picks the nodes, in an order of its own.
	RancherDrains bool
	// windows of the upgrade, and what is wrong with them.
	windows       []window.Window
	windowProblem string
}

// Stage of a plan.
type Stage struct {
	// Name of the stage, which is that of its pools.
	Name string
	// Pools of the stage.
	Pools []Pool
	// Unknown are the names in the order of which the Cluster has no pool now.
	Unknown []string
	// Limit is the number of nodes that it is for; zero is all.
	Limit int
	// Soak is how long the next stage waits.
	Soak time.Duration
}

// Read the plan of an upgrade. Slots are those that are taken now, according to the ElementalCluster.
func Read(ctx context.Context, reader client.Reader, upgrade *infrav1.ElementalClusterUpgrade, slots []infrav1.UpgradeSlot) (*Plan, error) {
	cluster := client.ObjectKey{Namespace: upgrade.Namespace, Name: upgrade.Spec.ClusterName}
	look := &reading{
		client: reader, view: clusterview.New(reader, cluster), upgrade: upgrade, slots: slots,
	}
	pools, err := look.pools(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at the pools of Cluster %s: %w", cluster.Name, err)
	}
	rancherDrains, err := owner.IsDrainedByRancher(ctx, reader, cluster.Namespace, cluster.Name)
	return NewPlan(upgrade, pools, rancherDrains), err
}

// NewPlan is the plan of an upgrade of pools, which are sorted by name.
func NewPlan(upgrade *infrav1.ElementalClusterUpgrade, pools []Pool, rancherDrains bool) *Plan {
	plan := &Plan{Upgrade: upgrade, Pools: pools, RancherDrains: rancherDrains}
	plan.Stages = stagesOf(pools, plan.order())
	for _, asked := range upgrade.Spec.Windows {
		parsed, err := ParseWindow(asked)
		if err != nil {
			plan.windowProblem = "spec.windows: " + err.Error()
			continue
		}
		plan.windows = append(plan.windows, parsed)
	}
	return plan
}

// stagesOf an order.
func stagesOf(pools []Pool, order []infrav1.PoolStage) []Stage {
	stages := []Stage{}
	for _, asked := range order {
		stage := Stage{
			Name: StageName(asked), Limit: int(ptr.Deref(asked.Nodes, 0)),
			Soak: time.Duration(ptr.Deref(asked.SoakSeconds, 0)) * time.Second,
		}
		for _, name := range asked.Pools {
			found := slices.DeleteFunc(slices.Clone(pools), func(p Pool) bool { return name != allPools && p.Name != name })
			if len(found) == 0 && name != allPools {
				stage.Unknown = append(stage.Unknown, name)
			}
			stage.Pools = append(stage.Pools, found...)
		}
		stages = append(stages, stage)
	}
	return withSharers(stages, pools)
}

// LeftOut is a pool of the stage at an index of which only some nodes are upgraded, and no later stage is for all of them: with their template changed, the
// others would be upgraded in no order once the upgrade has ended. Empty if there is none.
func LeftOut(order []infrav1.PoolStage, index int) string {
	if order[index].Nodes == nil {
		return ""
	}
	for _, pool := range order[index].Pools {
		isCovered := slices.ContainsFunc(order[index+1:], func(later infrav1.PoolStage) bool {
			return later.Nodes == nil && (slices.Contains(later.Pools, pool) || slices.Contains(later.Pools, allPools))
		})
		if !isCovered {
			return pool
		}
	}
	return ""
}

// order of the upgrade. The default is the control plane, then each other pool, by name, or all of them where Rancher picks the nodes or there are
// more than maxPools.
func (p *Plan) order() []infrav1.PoolStage {
	switch {
	case len(p.Upgrade.Spec.Order) > 0:
		return p.Upgrade.Spec.Order
	case p.RancherDrains:
		return ranchersOrder(p.Pools)
	}
	return defaultOrder(p.Pools)
}

func defaultOrder(pools []Pool) []infrav1.PoolStage {
	first, others := []infrav1.PoolStage{}, []infrav1.PoolStage{}
	for _, pool := range pools {
		stage := infrav1.PoolStage{Pools: []string{pool.Name}}
		if pool.Name == ControlPlanePool {
			first = append(first, stage)
		} else {
			others = append(others, stage)
		}
	}
	if len(others) > maxPools {
		others = []infrav1.PoolStage{{Pools: []string{allPools}}}
	}
	return append(first, others...)
}

// StageName is that of its pools. No two stages of an order may have the same.
func StageName(asked infrav1.PoolStage) string {
	name := strings.Join(asked.Pools, ",")
	if asked.Nodes != nil {
		name += fmt.Sprintf(" (nodes: %d)", *asked.Nodes)
	}
	return name
}

// withSharers adds the pools that no stage has to the last stage with a pool that shares a template with them: its change reaches them, too.
func withSharers(stages []Stage, pools []Pool) []Stage {
	named := sets.New[string]()
	for _, stage := range stages {
		for _, pool := range stage.Pools {
			named.Insert(pool.Name)
		}
	}
	for _, pool := range pools {
		if named.Has(pool.Name) {
			continue
		}
		for i := len(stages) - 1; i >= 0; i-- {
			if slices.ContainsFunc(stages[i].Pools, pool.sharesWith) {
				stages[i].Pools = append(stages[i].Pools, pool)
				break
			}
		}
	}
	return stages
}

func (p Pool) sharesWith(other Pool) bool {
	return slices.ContainsFunc(p.Templates, func(t *infrav1.ElementalMachineTemplate) bool {
		return slices.ContainsFunc(other.Templates, isNamed(t.Name))
	})
}

// Members of a stage.
func (s Stage) Members() []Member {
	all, seen := []Member{}, sets.New[string]()
	for _, pool := range s.Pools {
		if !seen.Has(pool.Name) {
			all = append(all, pool.Members...)
		}
		seen.Insert(pool.Name)
	}
	return all
}

// Has reports whether a Machine belongs to the pools of a stage.
func (s Stage) Has(machine string) bool {
	return slices.ContainsFunc(s.Members(), func(m Member) bool { return m.Machine.Name == machine })
}

// Count the members in some states.
func (s Stage) Count(states ...State) int {
	count := 0
	for _, member := range s.Members() {
		if slices.Contains(states, member.State) {
			count++
		}
	}
	return count
}

// Nodes that the stage is for, without those whose hosts are lost and released.
func (s Stage) Nodes() int {
	all := len(s.Members()) - s.Count(Released)
	if s.Limit == 0 {
		return all
	}
	return min(s.Limit, all)
}

// NodesDone of those that the stage is for.
func (s Stage) NodesDone() int { return min(s.Count(Done), s.Nodes()) }

// IsDone reports whether all its nodes are done. A pool without nodes is not: it may get some, with the OS that its template still has. Of a
// stage with a limit others may be in work, in a later stage.
func (s Stage) IsDone() bool {
	return len(s.Unknown) == 0 && len(s.Members()) > 0 && s.Count(Done) >= s.Nodes()
}

// Without names the nodes that the stage is done without; empty if there is none.
func (s Stage) Without() string {
	names := []string{}
	for _, member := range s.Members() {
		if member.State == Released {
			names = append(names, member.Node())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "without node " + Named(names) + ": its host is lost, and spec.release of its ElementalHostUpgrade is set"
}

// PoolNames are the names of the pools that have Machines.
func (p *Plan) PoolNames() []string {
	return namesOf(p.Pools, func(Pool) bool { return true })
}

// Unknown are the names in the order of which the Cluster has no pool now.
func (p *Plan) Unknown() []string {
	found := []string{}
	for _, stage := range p.Stages {
		found = append(found, stage.Unknown...)
	}
	return found
}

// Members of all stages.
func (p *Plan) Members() []Member {
	all, seen := []Member{}, sets.New[string]()
	for _, stage := range p.Stages {
		for _, member := range stage.Members() {
			if !seen.Has(member.Machine.Name) {
				all = append(all, member)
			}
			seen.Insert(member.Machine.Name)
		}
	}
	return all
}

// Targets are how many nodes the upgrade is for, and how many of those are done. A pool of which only stages with a limit are for some nodes
// counts with those.
func (p *Plan) Targets() (nodes, done int) {
	full := sets.New[string]()
	for _, stage := range p.Stages {
		for _, pool := range stage.Pools {
			if stage.Limit == 0 {
				full.Insert(pool.Name)
			}
		}
	}
	for _, pool := range p.Pools {
		if full.Has(pool.Name) {
			of := Stage{Pools: []Pool{pool}}
			nodes, done = nodes+of.Nodes(), done+of.NodesDone()
		}
	}
	for _, stage := range p.Stages {
		if stage.Limit > 0 && !slices.ContainsFunc(stage.Pools, func(pool Pool) bool { return full.Has(pool.Name) }) {
			nodes, done = nodes+stage.Nodes(), done+stage.NodesDone()
		}
	}
	return nodes, done
}
