// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// ranchersOrder is etcd and the control plane, then all others.
// Source: rancher/rancher, pkg/capr/planner.
func ranchersOrder(pools []Pool) []infrav1.PoolStage {
	order := []infrav1.PoolStage{}
	if first := namesOf(pools, isFirst); len(first) > 0 {
		order = append(order, infrav1.PoolStage{Pools: first})
	}
	if len(namesOf(pools, isWorker)) > 0 {
		order = append(order, infrav1.PoolStage{Pools: []string{allPools}})
	}
	return order
}

// AgainstRancher says why the order cannot be kept in a Cluster in which Rancher picks the nodes: it would wait for a node that waits for the order.
// Empty if it can.
func (p *Plan) AgainstRancher() string {
	if !p.RancherDrains {
		return ""
	}
	begun := false
	for _, stage := range p.Stages {
		first, workers := p.share(stage, isFirst), p.share(stage, isWorker)
		if first == some || workers == some || first == every && begun && workers == none {
			return p.rancherPicks()
		}
		begun = begun || workers == every
	}
	return ""
}

func (p *Plan) rancherPicks() string {
	return fmt.Sprintf("Rancher drains the nodes of Cluster %s in an order of its own, those of %s before all others. In spec.order a stage is for these pools, "+
		"or for all others: leave spec.order out, or name them by %q after these", p.Upgrade.Spec.ClusterName, strings.Join(namesOf(p.Pools, isFirst), ", "), allPools)
}

// How many of the pools of a kind a stage has.
const (
	none = iota
	some
	every
)

func (p *Plan) share(stage Stage, is func(Pool) bool) int {
	switch len(namesOf(stage.Pools, is)) {
	case 0:
		return none
	case len(namesOf(p.Pools, is)):
		return every
	}
	return some
}

// isFirst reports whether Rancher drains the nodes of a pool before the workers.
func isFirst(pool Pool) bool {
	return pool.Name == ControlPlanePool || slices.ContainsFunc(pool.Members, func(m Member) bool { return rancher.TierOf(m.Machine) == rancher.ControlPlaneTier })
}

func isWorker(pool Pool) bool { return !isFirst(pool) }

func namesOf(pools []Pool, is func(Pool) bool) []string {
	names := []string{}
	for _, pool := range pools {
		if is(pool) {
			names = append(names, pool.Name)
		}
	}
	return names
}
