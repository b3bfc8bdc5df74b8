// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Names of the stages that are not those of pools.
const (
	// StagePreflight tries the changes.
	StagePreflight = "Preflight"
	// StagePrefetch changes the templates, and waits until the hosts have fetched the image.
	StagePrefetch = "Prefetch"
	// StageKubeVirt upgrades KubeVirt.
	StageKubeVirt = "KubeVirt"
	// StageWorkloads waits until KubeVirt has brought virtual machines to launchers of its version.
	StageWorkloads = "Workloads"
)

// Before are the names of the stages before those of pools, in their order. No node is begun before all of them are done.
func (p *Plan) Before() []string {
	names := []string{StagePreflight, StagePrefetch}
	if p.Upgrade.Spec.KubeVirt == nil {
		return names
	}
	names = append(names, StageKubeVirt)
	if p.Upgrade.Spec.KubeVirt.Workloads == infrav1.WorkloadsBeforeNodes {
		names = append(names, StageWorkloads)
	}
	return names
}

// After are the names of the stages between those of pools and the last one.
func (p *Plan) After() []string {
	if kubeVirt := p.Upgrade.Spec.KubeVirt; kubeVirt != nil && kubeVirt.Workloads != infrav1.WorkloadsBeforeNodes {
		return []string{StageWorkloads}
	}
	return nil
}

// HasCompleted reports whether a stage is recorded as done.
func (p *Plan) HasCompleted(stage string) bool {
	recorded := p.Recorded(stage)
	return recorded != nil && recorded.CompletionTime != nil
}

// unfinished is the first stage before those of pools that is not done; empty if all are.
func (p *Plan) unfinished() string {
	for _, name := range p.Before() {
		if !p.HasCompleted(name) {
			return name
		}
	}
	return ""
}
