// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// maxNamed nodes are named in a message; it is to be read at a glance.
const maxNamed = 5

// Current is the index of the first stage that is not done, or whose soak is not over; the number of stages if all are done.
func (p *Plan) Current(now time.Time) int {
	for i, stage := range p.Stages {
		if !stage.IsDone() || p.soaking(i, now) != "" {
			return i
		}
	}
	return len(p.Stages)
}

// soaking says until when the stage after one that is done waits; empty if it does not. The time at which a stage was done is in the status: until
// it is recorded nobody knows when the soak began.
func (p *Plan) soaking(index int, now time.Time) string {
	stage := p.Stages[index]
	if stage.Soak == 0 {
		return ""
	}
	recorded := p.Recorded(stage.Name)
	if recorded == nil || recorded.CompletionTime == nil {
		return "its soak of " + stage.Soak.String() + " begins"
	}
	if until := recorded.CompletionTime.Add(stage.Soak); until.After(now) {
		return "it soaks until " + until.UTC().Format(time.RFC3339)
	}
	return ""
}

// SoakEnds is when the soak of the current stage is over; zero if it does not soak.
func (p *Plan) SoakEnds(now time.Time) time.Time {
	current := p.Current(now)
	if current == len(p.Stages) || !p.Stages[current].IsDone() {
		return time.Time{}
	}
	if recorded := p.Recorded(p.Stages[current].Name); recorded != nil && recorded.CompletionTime != nil {
		return recorded.CompletionTime.Add(p.Stages[current].Soak)
	}
	return time.Time{}
}

// Recorded is what the status says of a stage; nil if nothing.
func (p *Plan) Recorded(name string) *infrav1.ClusterUpgradeStage {
	for i := range p.Upgrade.Status.Stages {
		if p.Upgrade.Status.Stages[i].Name == name {
			return &p.Upgrade.Status.Stages[i]
		}
	}
	return nil
}

// Hold is why the upgrade of a Machine's node must not start now; nil if it may.
func (p *Plan) Hold(machine string, now time.Time) *infrav1.UpgradeHold {
	if stopped := p.stopped(); stopped != nil {
		return stopped
	}
	current := p.Current(now)
	if current == len(p.Stages) {
		return cmp.Or(p.closedWindow(now), p.closedGate(now))
	}
	stage := p.Stages[current]
	if soaks := p.soaking(current, now); stage.IsDone() && soaks != "" {
		return p.hold(infrav1.HoldSoaking, "stage %s is done, and %s", stage.Name, soaks)
	}
	if closed := p.closedWindow(now); closed != nil {
		return closed
	}
	if !stage.Has(machine) {
		return p.hold(infrav1.HoldNotInStage, "it is at stage %s, to which this node does not belong", stage.Name)
	}
	if stage.Limit > 0 && stage.Count(Done, Begun, Ending, Ended) >= stage.Limit {
		return p.hold(infrav1.HoldStageFull, "stage %s has its nodes", stage.Name)
	}
	return p.closedGate(now)
}

// hold of an ElementalClusterUpgrade.
func (p *Plan) hold(reason infrav1.HoldReason, format string, args ...any) *infrav1.UpgradeHold {
	return newHold(p.Upgrade, reason, format, args...)
}

func newHold(upgrade *infrav1.ElementalClusterUpgrade, reason infrav1.HoldReason, format string, args ...any) *infrav1.UpgradeHold {
	return infrav1.NewHold(reason, "ElementalClusterUpgrade/"+upgrade.Name, fmt.Sprintf(format, args...))
}

// StoppedByUser is the hold of an ElementalClusterUpgrade that a user has cancelled, deleted or paused; nil if none of these.
func StoppedByUser(upgrade *infrav1.ElementalClusterUpgrade) *infrav1.UpgradeHold {
	switch {
	case upgrade.Spec.Cancel || !upgrade.DeletionTimestamp.IsZero():
		return newHold(upgrade, infrav1.HoldUpgradeCancelled, "it is cancelled")
	case upgrade.Spec.Paused:
		return newHold(upgrade, infrav1.HoldUpgradePaused, "it is paused: set its spec.paused to false")
	case annotations.HasPaused(upgrade):
		return newHold(upgrade, infrav1.HoldUpgradePaused, "it has the annotation %s", clusterv1.PausedAnnotation)
	}
	return nil
}

// holdUnless is a hold with a message; nil where there is none.
func (p *Plan) holdUnless(message string, reason infrav1.HoldReason) *infrav1.UpgradeHold {
	if message == "" {
		return nil
	}
	return p.hold(reason, "%s", message)
}

func (p *Plan) closedWindow(now time.Time) *infrav1.UpgradeHold {
	outside, reason := p.Outside(now), infrav1.HoldWindowClosed
	if outside != "" && p.noWindowFits(now) {
		reason = infrav1.HoldNoWindowFits
	}
	return p.holdUnless(outside, reason)
}

func (p *Plan) closedGate(now time.Time) *infrav1.UpgradeHold {
	return p.holdUnless(p.ClosedGate(now), infrav1.HoldGateClosed)
}

// stopped is why the upgrade of no node starts at all, whatever the time and the stage; nil if that is not so.
func (p *Plan) stopped() *infrav1.UpgradeHold {
	if stopped := StoppedByUser(p.Upgrade); stopped != nil {
		return stopped
	}
	switch failed := p.Failed(); {
	case p.unfinished() != "":
		return p.hold(infrav1.HoldStageNotReady, "its stage %s is not done", p.unfinished())
	case len(failed) > 0:
		return p.hold(infrav1.HoldRolloutStopped, "%s", p.failure(failed))
	}
	for _, member := range p.Members() {
		if member.State == Ending {
			return p.hold(infrav1.HoldOutcomePending, "how ElementalHostUpgrade %s ended is being recorded: see its message if that lasts", member.Attempt.Name)
		}
	}
	return nil
}

// Failed are the members whose attempts ended without the OS.
func (p *Plan) Failed() []Member {
	return slices.DeleteFunc(p.Members(), func(m Member) bool { return m.State != Failed })
}

// failure names what failed, and what to do.
func (p *Plan) failure(failed []Member) string {
	first := failed[0].Attempt
	more := ""
	if len(failed) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(failed)-1)
	}
	if first.PhaseNow() == infrav1.UpgradeSucceeded {
		return fmt.Sprintf("node %s was upgraded and runs another OS by now%s: see condition %s of ElementalMachine %s. Have it run the OS again, or set "+
			"spec.cancel of the ElementalClusterUpgrade", failed[0].Node(), more, infrav1.OSDriftedCondition, failed[0].Elemental.Name)
	}
	said := fmt.Sprintf("node %s was not upgraded%s: ElementalHostUpgrade %s is %s", failed[0].Node(), more, first.Name, first.PhaseNow())
	if first.Status.Message != "" {
		said += ": " + first.Status.Message
	}
	return said + ". " + remedies[first.PhaseNow()]
}

// remedies are what a person can do after an end.
var remedies = map[infrav1.UpgradePhase]string{
	infrav1.UpgradeRolledBack: "Create another ElementalClusterUpgrade, with an image that boots",
	infrav1.UpgradeFailed:     "Fix that and delete it to try again, or set spec.cancel of the ElementalClusterUpgrade",
	infrav1.UpgradeAborted:    "Delete it to try again, or set spec.cancel of the ElementalClusterUpgrade",
	infrav1.UpgradeHostLost:   "Bring the host back, delete its Machine, or set spec.release of the ElementalHostUpgrade",
}

// InWork are the members that have their slot, or whose end is yet to be recorded.
func (p *Plan) InWork() []Member {
	return slices.DeleteFunc(p.Members(), func(m Member) bool { return m.State != Begun && m.State != Ending })
}

// Message says what the upgrade waits for, and who has to act; empty if none of the nodes of the current stage has an attempt.
func (p *Plan) Message(now time.Time) string {
	if failed := p.Failed(); len(failed) > 0 {
		return p.failure(failed)
	}
	current := p.Current(now)
	if current == len(p.Stages) {
		return ""
	}
	stage := p.Stages[current]
	if stage.IsDone() {
		return fmt.Sprintf("stage %s is done, and %s", stage.Name, p.soaking(current, now))
	}
	working, waiting := stage.told()
	if len(working) > 0 {
		return shortened(working)
	}
	return shortened(waiting)
}

// told are what the nodes in work are at, and what those wait for that have an attempt.
func (s Stage) told() (working, waiting []string) {
	for _, member := range s.Members() {
		switch {
		case member.State == Ending && member.Attempt.Status.Message != "": // it may wait for a user
			working = append(working, fmt.Sprintf("node %s: %s", member.Node(), member.Attempt.Status.Message))
		case member.State == Begun || member.State == Ending:
			working = append(working, fmt.Sprintf("node %s is at %s", member.Node(), member.Attempt.Status.Position()))
		case member.State == Waiting && member.Attempt != nil && !member.Attempt.PhaseNow().IsEnd() && member.Attempt.Status.Message != "":
			waiting = append(waiting, fmt.Sprintf("node %s: %s", member.Node(), member.Attempt.Status.Message))
		}
	}
	return working, waiting
}

func shortened(said []string) string {
	if len(said) > maxNamed {
		said = append(slices.Clone(said[:maxNamed]), fmt.Sprintf("and %d more", len(said)-maxNamed))
	}
	return strings.Join(said, "; ")
}

// Named are the first of some names.
func Named(names []string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}
