// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// metav1Now is the time, in the seconds that objects have.
func metav1Now(from clock.PassiveClock) metav1.Time { return metav1.NewTime(from.Now()).Rfc3339Copy() }

// report the state of an upgrade.
func (r *Reconciler) report(upgrade *infrav1.ElementalClusterUpgrade, phase infrav1.ClusterUpgradePhase, stage, message string) {
	status := &upgrade.Status
	status.Phase, status.Stage, status.Message = phase, stage, condition.Message(message)
	if status.StartTime == nil && phase != infrav1.ClusterUpgradePending {
		started := metav1Now(r.Clock)
		status.StartTime = &started
	}
	switch {
	case phase == infrav1.ClusterUpgradeSucceeded:
		condition.TrueBecause(upgrade, infrav1.UpgradeSucceededCondition, string(phase), "%s", message)
		condition.False(upgrade, infrav1.UpgradeProgressingCondition, string(phase), "%s", message)
	case phase.IsEnd():
		condition.False(upgrade, infrav1.UpgradeSucceededCondition, string(phase), "%s", message)
		condition.False(upgrade, infrav1.UpgradeProgressingCondition, string(phase), "%s", message)
	case phase == infrav1.ClusterUpgradeFailed:
		condition.False(upgrade, infrav1.UpgradeSucceededCondition, string(phase), "%s", message)
		condition.False(upgrade, infrav1.UpgradeProgressingCondition, string(phase), "%s", message)
	default:
		conditions.Delete(upgrade, infrav1.UpgradeSucceededCondition)
		condition.TrueBecause(upgrade, infrav1.UpgradeProgressingCondition, string(phase), "%s", message)
	}
}

// recordStages records how far each stage is. The time at which a stage was done is kept for as long as it is done: its soak begins there.
func (o *observation) recordStages(report sequence.Report) {
	recorded := o.recordNamed(nil, o.plan.Before(), report)
	for _, stage := range o.plan.Stages {
		found := o.recordStage(stage.Name, len(recorded)+1, report, stage.IsDone())
		found.Nodes, found.NodesDone, found.Message = int32(stage.Nodes()), int32(stage.NodesDone()), condition.Message(stage.Without())
		recorded = append(recorded, found)
	}
	recorded = o.recordNamed(recorded, o.plan.After(), report)
	o.upgrade.Status.Stages = append(recorded, o.recordStage(stageCleanup, report.Total, report, report.Completed()))
	o.recordNodes()
	o.upgrade.Status.EstimatedCompletionTime = timeOrNil(o.estimate(), o.now)
	o.upgrade.Status.NextWindow = timeOrNil(o.plan.NextWindow(o.now), o.now)
}

// recordNodes records how many nodes the upgrade is for, and how many are done.
func (o *observation) recordNodes() {
	nodes, done := o.plan.Targets()
	all, upToDate := int32(nodes), int32(done)
	o.upgrade.Status.Nodes, o.upgrade.Status.NodesDone = &all, &upToDate
}

// estimate is when the last node will be done; zero while that is up to somebody, or to a window.
func (o *observation) estimate() time.Time {
	if len(o.plan.Failed()) > 0 || o.upgrade.Spec.Paused || o.plan.Outside(o.now) != "" {
		return time.Time{}
	}
	return o.plan.Estimate(int(o.elemental.Spec.NodeUpgradeOption.WithDefaults().MaxConcurrent))
}

// recordNamed records how far stages that are not those of pools are, after those that are recorded.
func (o *observation) recordNamed(recorded []infrav1.ClusterUpgradeStage, names []string, report sequence.Report) []infrav1.ClusterUpgradeStage {
	for _, name := range names {
		found := o.recordStage(name, len(recorded)+1, report, slices.Contains(report.Passed, name))
		switch {
		case name == stagePrefetch && (o.fetch.Nodes > 0 || o.fetch.Without != ""):
			found.Nodes, found.NodesDone, found.Message = int32(o.fetch.Nodes), int32(o.fetch.Fetched), condition.Message(o.fetch.Without)
		case name == clusterupgrade.StageWorkloads && o.outdated != "":
			found.Message = condition.Message(o.outdated)
		}
		recorded = append(recorded, found)
	}
	return recorded
}

// timeOrNil is a time that is to come.
func timeOrNil(t, now time.Time) *metav1.Time {
	if !t.After(now) {
		return nil
	}
	return &metav1.Time{Time: t}
}

// recordStage with a position, from 1.
func (o *observation) recordStage(name string, index int, report sequence.Report, isDone bool) infrav1.ClusterUpgradeStage {
	found := infrav1.ClusterUpgradeStage{Name: name}
	if known := o.plan.Recorded(name); known != nil {
		found = *known
	}
	now := metav1.NewTime(o.now).Rfc3339Copy()
	reached := report.Completed() || report.Index >= index
	if found.StartTime == nil && reached {
		found.StartTime = &now
	}
	switch {
	case !isDone && (!reached || !o.isAfter(name)):
		found.CompletionTime = nil
	case !isDone: // a node was added: what has soaked does not soak again
	case found.CompletionTime == nil && reached:
		found.CompletionTime = &now
	}
	return found
}

// isAfter reports whether a stage after one has begun.
func (o *observation) isAfter(name string) bool {
	stages := o.upgrade.Status.Stages
	at := slices.IndexFunc(stages, func(s infrav1.ClusterUpgradeStage) bool { return s.Name == name })
	return at >= 0 && slices.ContainsFunc(stages[at+1:], func(s infrav1.ClusterUpgradeStage) bool { return s.StartTime != nil })
}
