// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancherdrain

import (
	"context"
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiannotations "sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// verdict on a drain.
type verdict struct {
	rancher.Answers
	// isLeftAlone says that nothing is written, and lookAgain when that may change without an event.
	isLeftAlone bool
	lookAgain   time.Duration
	// failed is what a user has to look at before there is an answer; empty if nothing is.
	failed  string
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
}

var (
	// both answers: nothing is to be done while the Node is drained, or not by this provider.
	both = rancher.Answers{Before: true, After: true}
	none = rancher.Answers{}
)

// judge says how the hooks are answered. A drain that nothing is to be done for must not wait.
func (r *Reconciler) judge(ctx context.Context, drain rancher.Drain) (verdict, error) {
	if found, isJudged := judgeDrain(drain); isJudged {
		return found, nil
	}
	machine, err := existing.Get(ctx, r.Live, &clusterv1.Machine{}, drain.Secret.Namespace, drain.Secret.Labels[rancher.MachineNameLabel])
	if err != nil {
		return verdict{}, err
	}
	if machine == nil || !machine.DeletionTimestamp.IsZero() || !association.NamesElementalMachine(machine.Spec.InfrastructureRef) {
		return verdict{Answers: both}, nil
	}
	cluster, err := existing.Get(ctx, r.Live, &clusterv1.Cluster{}, machine.Namespace, machine.Spec.ClusterName)
	switch {
	case err != nil:
		return verdict{}, err
	case cluster == nil || !rancher.Provisions(cluster) || !cluster.DeletionTimestamp.IsZero():
		return verdict{Answers: both}, nil
	case r.isNotToTouch(cluster, machine):
		return verdict{isLeftAlone: true, lookAgain: retry}, nil
	}
	found, err := r.judgeMachine(ctx, drain, cluster, machine)
	found.machine, found.cluster = machine, cluster
	return found, err
}

// judgeDrain by what Rancher asks alone. It reports whether that is enough.
func judgeDrain(drain rancher.Drain) (found verdict, isJudged bool) {
	switch before, after := drain.Hooks(); {
	case !drain.IsAsked():
		return verdict{Answers: none}, true
	case !before && !after: // it is another party's
		return verdict{isLeftAlone: true}, true
	case !before || !after: // condition RolloutBlocked of the template says so
		return verdict{Answers: both}, true
	}
	return verdict{}, false
}

// isNotToTouch reports whether a Cluster is another manager's, or it or the Machine is paused.
func (r *Reconciler) isNotToTouch(cluster *clusterv1.Cluster, machine *clusterv1.Machine) bool {
	return r.WatchFilter != "" && !labels.HasWatchLabel(cluster, r.WatchFilter) || capiannotations.IsPaused(cluster, machine)
}

func (r *Reconciler) judgeMachine(ctx context.Context, drain rancher.Drain, cluster *clusterv1.Cluster, machine *clusterv1.Machine) (verdict, error) {
	driver, err := owner.DriverOf(ctx, r.Client, machine)
	if err != nil {
		return verdict{}, err
	}
	elemental, err := existing.Get(ctx, r.Live, &infrav1.ElementalMachine{}, machine.Namespace, machine.Spec.InfrastructureRef.Name)
	switch {
	case err != nil:
		return verdict{}, err
	case elemental == nil:
		return verdict{Answers: both}, nil
	}
	all, err := attempts.OnElementalMachine(ctx, r.Client, elemental.Namespace, elemental.Name)
	if err != nil {
		return verdict{}, err
	}
	unfinished := attempts.NewestWhere(all, func(u *infrav1.ElementalHostUpgrade) bool { return !u.PhaseNow().IsEnd() })
	switch {
	case unfinished != nil && (attempts.HasStarted(unfinished) || driver != infrav1.DriverRancherDrain && !drain.IsGivenUp()):
		return judgeUnfinished(unfinished), nil
	case driver != infrav1.DriverRancherDrain, drain.IsGivenUp(): // an attempt waits for the drain after one that was given up
		return verdict{Answers: both}, nil
	}
	return r.judgeWish(ctx, wish{cluster: cluster, machine: machine, elemental: elemental, unfinished: unfinished})
}

// answersOf an attempt that has not ended.
func answersOf(attempt *infrav1.ElementalHostUpgrade) rancher.Answers {
	isHandedBack := attempts.HasEntered(attempt, attempts.StepHandBack) // also where the host ran the OS already, without the steps before
	return rancher.Answers{Before: isHandedBack || attempts.HasEntered(attempt, attempts.StepHandOver), After: isHandedBack}
}

// judgeUnfinished attempt. One whose host is lost goes on by itself only if the host comes back, and holds nothing once a user has released it.
func judgeUnfinished(attempt *infrav1.ElementalHostUpgrade) verdict {
	switch {
	case attempt.PhaseNow() != infrav1.UpgradeHostLost:
		return verdict{Answers: answersOf(attempt), failed: heldBy(attempt)}
	case attempt.Spec.Release:
		return verdict{Answers: both}
	}
	return verdict{Answers: answersOf(attempt), failed: fmt.Sprintf("ElementalHostUpgrade %s is HostLost: %s. Bring the host back, delete Machine %s or, to have "+
		"Rancher go on without it, set spec.release", attempt.Name, attempt.Status.Message, attempt.Spec.MachineName)}
}

// heldBy says what holds an attempt until a user or its host acts; empty if nothing does.
func heldBy(attempt *infrav1.ElementalHostUpgrade) string {
	held := attempts.FirstHold(attempt)
	if held == nil || held.Who != infrav1.HoldByUser && held.Who != infrav1.HoldByHost {
		return ""
	}
	return fmt.Sprintf("ElementalHostUpgrade %s is held: %s", attempt.Name, held.Message)
}

// wish is what a machine is brought to, and by what.
type wish struct {
	cluster   *clusterv1.Cluster
	machine   *clusterv1.Machine
	elemental *infrav1.ElementalMachine
	// unfinished is the attempt that waits for the drain; nil if there is none.
	unfinished *infrav1.ElementalHostUpgrade
}

// judgeWish says whether the machine has reached what its template asks for, both read live: an attempt may be about to be made.
func (r *Reconciler) judgeWish(ctx context.Context, of wish) (verdict, error) {
	template, err := r.templateOf(ctx, of.elemental)
	switch {
	case err != nil:
		return verdict{}, err
	case template == nil, asksForNothing(template): // and nothing is rolled out
		return verdict{Answers: both}, nil
	case of.unfinished != nil:
		return judgeUnfinished(of.unfinished), nil
	}
	hash := osversion.Hash(osversion.OfTemplate(template))
	if owner.IsThere(of.elemental, template.Name, hash) {
		return verdict{Answers: both}, nil
	}
	if why := idle(template); why != "" {
		return verdict{Answers: none, failed: why}, nil
	}
	last, err := r.lastOf(ctx, of.elemental, of.machine.Name, hash)
	switch {
	case err != nil:
		return verdict{}, err
	case last == nil:
		return r.judgeUnrequested(ctx, of)
	case !last.PhaseNow().IsEnd():
		return verdict{Answers: none}, nil
	}
	return judgeEnd(last), nil
}

// judgeUnrequested machine, which has no attempt. None is made where a user has removed the hooks. It says why, if that is the host; otherwise one is about to be made.
func (r *Reconciler) judgeUnrequested(ctx context.Context, of wish) (verdict, error) {
	controlPlane, err := rancher.ControlPlaneOf(ctx, r.Live, of.cluster)
	switch {
	case err != nil:
		return verdict{}, err
	case controlPlane != nil && len(controlPlane.MissingHooks(rancher.TierOf(of.machine))) > 0:
		return verdict{Answers: both}, nil
	}
	host, err := existing.Get(ctx, r.Client, &infrav1.ElementalHost{}, of.elemental.Namespace, association.Recorded(of.elemental))
	if err != nil || hoststate.Joined(host) {
		return verdict{Answers: none}, err
	}
	return verdict{Answers: none, failed: "ElementalMachine " + of.elemental.Name + " has no ElementalHost that has joined and reported: does its elemental-agent run?"}, nil
}

// lastOf is the attempt of the rollout that brings a machine to an OS; nil where that has not started.
func (r *Reconciler) lastOf(ctx context.Context, elemental *infrav1.ElementalMachine, machine, hash string) (*infrav1.ElementalHostUpgrade, error) {
	by := owner.NotedRollout(elemental)
	if by == "" || owner.NotedOS(elemental) != hash {
		return nil, nil
	}
	return attempts.OfRollout(ctx, r.Live, client.ObjectKey{Namespace: elemental.Namespace, Name: machine}, by)
}

// templateOf a machine is the one that is patched to upgrade it.
func (r *Reconciler) templateOf(ctx context.Context, elemental *infrav1.ElementalMachine) (*infrav1.ElementalMachineTemplate, error) {
	return existing.Get(ctx, r.Live, &infrav1.ElementalMachineTemplate{}, elemental.Namespace, owner.MadeFrom(elemental))
}

// asksForNothing reports whether nothing is ever rolled out from a template.
func asksForNothing(template *infrav1.ElementalMachineTemplate) bool {
	wanted := osversion.OfTemplate(template)
	return osversion.Image(wanted) == "" && osversion.Unresolved(wanted) == "" || !template.DeletionTimestamp.IsZero()
}

// idle says why nothing is rolled out from a template until a user acts.
func idle(template *infrav1.ElementalMachineTemplate) string {
	switch unresolved := osversion.Unresolved(osversion.OfTemplate(template)); {
	case capiannotations.HasPaused(template):
		return "ElementalMachineTemplate " + template.Name + " is paused: remove its annotation " + clusterv1.PausedAnnotation
	case unresolved != "":
		return "ElementalMachineTemplate " + template.Name + " has no image yet: see its condition " + infrav1.OSVersionResolvedCondition
	}
	return ""
}

// judgeEnd of the attempt that was to bring the machine to what its template asks for. One that a user has given up holds nothing.
func judgeEnd(attempt *infrav1.ElementalHostUpgrade) verdict {
	phase := attempt.PhaseNow()
	switch {
	case phase == infrav1.UpgradeSuperseded: // another one is about to be made
		return verdict{Answers: none}
	case phase == infrav1.UpgradeSucceeded, attempt.Spec.Cancel, attempt.Spec.Release:
		return verdict{Answers: both}
	}
	return verdict{Answers: none, failed: fmt.Sprintf("ElementalHostUpgrade %s ended as %s: %s. Patch the template to another image or, to have Rancher go on "+
		"without it, set spec.cancel", attempt.Name, phase, attempt.Status.Message)}
}
