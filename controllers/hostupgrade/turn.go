// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// The attempts of a patched template exist for all Machines from the start. What is here says which of them may have their hosts fetch the image, and which may
// take a slot.

// stoppedAtAdmit is the hold of an attempt that may take a slot. Rancher waits itself for an attempt that has not ended well.
func (a *admission) stoppedAtAdmit() *hold {
	if a.upgrade.Spec.Driver == infrav1.DriverRancherDrain {
		return nil
	}
	return a.stopped()
}

// stopped is the hold by another attempt of the rollout that has not ended well.
func (o *observation) stopped() *hold {
	if o.rollout == nil || o.rollout.Spec.StoppedBy == "" || o.rollout.Spec.StoppedBy == o.upgrade.Name {
		return nil
	}
	by := o.rollout.Spec.StoppedBy
	return infrav1.NewHold(infrav1.HoldRolloutStopped, "ElementalHostUpgrade/"+by,
		fmt.Sprintf("ElementalHostUpgrade %s has not succeeded: see its message, and condition %s of ElementalMachineTemplate %s",
			by, infrav1.RolloutBlockedCondition, o.upgrade.Spec.TemplateName))
}

// stops reports whether an attempt that is about to end stops its rollout. Where Cluster API brings Machines to an OS it waits itself, as Rancher does in its
// drain of the Node.
func (o *observation) stops() bool {
	isAwaited := o.upgrade.Spec.Driver == infrav1.DriverClusterAPI || attempts.IsAwaitedByRancher(o.upgrade)
	return !isAwaited && o.rollout != nil && o.rollout.Spec.StoppedBy == "" &&
		o.host != nil && !o.machineLeaves() && !o.upgrade.Spec.Release && o.upgrade.DeletionTimestamp.IsZero()
}

// stopRollout records in the rollout that the attempt does not end well. That precedes the release of the slot. An attempt that takes the slot reads the rollout
// afterwards.
func (r *Reconciler) stopRollout(ctx context.Context, o *observation) (sequence.Result, error) {
	if err := r.rolloutOf(ctx, o, r.APIReader); err != nil {
		return sequence.Result{}, err
	}
	if !o.stops() {
		return sequence.Done(), nil
	}
	before := o.rollout.DeepCopy()
	o.rollout.Spec.StoppedBy = o.upgrade.Name
	return sequence.Done(), client.IgnoreNotFound(rollout.Patch(ctx, r.Client, before, o.rollout, "stopping"))
}

// readRollout reads the rollout past the cache: what stops or holds it may be of a moment ago.
func (r *Reconciler) readRollout(ctx context.Context, a *admission) error {
	return r.rolloutOf(ctx, a.observation, r.APIReader)
}

// notInTurn keeps a node from its slot while one that comes before it may take that. Rancher has an order of its own. The order is no matter of safety, so that
// the cache decides.
func (r *Reconciler) notInTurn(ctx context.Context, o *observation) (*hold, error) {
	o.turnAfter = pollTurn
	if held, err := r.after(ctx, o, attempts.Precedes); err != nil || held != nil {
		return held, err
	}
	o.turnAfter = passingTime // which is no event
	return r.after(ctx, o, func(other *infrav1.ElementalHostUpgrade) bool { return isBlockedForNow(other, o.now) })
}

// passingTime is how long what a check finds may take to pass by itself, as a Node that is not Ready for a moment.
const passingTime = 30 * time.Second

// isBlockedForNow reports whether a check has blocked an attempt without a slot for a moment only.
func isBlockedForNow(attempt *infrav1.ElementalHostUpgrade, now time.Time) bool {
	held := attempts.FirstHold(attempt)
	return held != nil && held.Reason == infrav1.HoldPreflightFailed && now.Sub(held.Since.Time) < passingTime && !attempts.HasEntered(attempt, stepCordon)
}

// after is the hold of a node that comes after a chosen one.
func (r *Reconciler) after(ctx context.Context, o *observation, isChosen func(*infrav1.ElementalHostUpgrade) bool) (*hold, error) {
	if o.drain != nil {
		return nil, nil
	}
	before, err := attempts.Before(ctx, r.Client, o.upgrade, isChosen)
	if err != nil || before == nil {
		return nil, err
	}
	return infrav1.NewHold(infrav1.HoldNotInTurn, "Cluster/"+o.upgrade.Spec.ClusterName,
		"waiting for its turn in Cluster "+o.upgrade.Spec.ClusterName+": control plane nodes are upgraded first, and then nodes by their names"), nil
}

// yieldTime is how long a node that nothing holds any more waits for those before it which were held by the same: they look again within that time.
const yieldTime = 2 * pollCluster

// readYield looks for such nodes. The stored hold of this one is what held it before or, since it waits for them, that it does.
func (r *Reconciler) readYield(ctx context.Context, a *admission) (err error) {
	former := attempts.FirstHold(a.upgrade)
	if former == nil {
		return nil
	}
	waits := former.Reason == infrav1.HoldNotInTurn && a.now.Sub(former.Since.Time) < yieldTime
	if !waits && attempts.IsTurn(former.Reason) {
		return nil
	}
	a.yields, err = r.after(ctx, a.observation, func(other *infrav1.ElementalHostUpgrade) bool {
		held := attempts.FirstHold(other)
		return held != nil && other.Status.Phase != infrav1.UpgradeHostLost && !attempts.HasEntered(other, stepCordon) && (waits || held.Reason == former.Reason)
	})
	return err
}

const (
	// answerTime is how long a host that was asked is counted as one that fetches before it answers.
	answerTime = 10 * time.Second
	// fetchSilence is for how long a host that fetches may report nothing new before others fetch in its place.
	fetchSilence = 5 * time.Minute
)

// fetches are the hosts that were asked a moment ago to fetch an image, by their Cluster and attempt, with when they were asked. It bounds how many are asked at a
// time. A manager that has just started knows of none, and asks a few more.
type fetches struct {
	mu    sync.Mutex
	asked map[client.ObjectKey]map[string]ask
}

type ask struct {
	rollout string
	at      time.Time
}

// reserve a place for an attempt among the hosts that fetch, of which others are known. It returns after how long to look again where there is none. Of a
// rollout whose image no host has resolved one fetches at a time.
func (f *fetches) reserve(o *observation, fetching []infrav1.ElementalHostUpgrade) (after time.Duration, reserved bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked = map[client.ObjectKey]map[string]ask{}
	}
	asked := f.others(o, fetching)
	f.asked[o.clusterKey()] = asked
	rollouts, after := []string{}, pollTurn
	for i := range fetching {
		if attemptOf(&fetching[i]) != o.attempt && !hasTriedForLong(&fetching[i], o.now) {
			rollouts = append(rollouts, fetching[i].Spec.RolloutName)
		}
	}
	for _, of := range asked {
		rollouts = append(rollouts, of.rollout)
		after = min(after, max(time.Second, answerTime-o.now.Sub(of.at)))
	}
	isResolving := o.digest() == "" && slices.Contains(rollouts, o.upgrade.Spec.RolloutName)
	if isResolving || len(rollouts) >= clusterupgrade.MaxFetching {
		return after, false
	}
	asked[o.attempt] = ask{rollout: o.upgrade.Spec.RolloutName, at: o.now}
	return 0, true
}

// hasTriedForLong reports whether a host has not resolved its image for so long that others try in its place.
func hasTriedForLong(attempt *infrav1.ElementalHostUpgrade, now time.Time) bool {
	held := attempts.FirstHold(attempt)
	return held != nil && now.Sub(held.Since.Time) >= fetchSilence
}

// others are the hosts of the Cluster, but for that of an attempt, that were asked a moment ago and are not known to fetch.
func (f *fetches) others(o *observation, fetching []infrav1.ElementalHostUpgrade) map[string]ask {
	left := map[string]ask{}
	for id, of := range f.asked[o.clusterKey()] {
		isFetching := slices.ContainsFunc(fetching, func(u infrav1.ElementalHostUpgrade) bool { return attemptOf(&u) == id })
		if id != o.attempt && !isFetching && o.now.Sub(of.at) < answerTime {
			left[id] = of
		}
	}
	return left
}

// release the place of a host that has fetched its image, or that is not asked. While it fetches, the step of its attempt shows that moments later only.
func (f *fetches) release(o *observation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.asked[o.clusterKey()], o.attempt)
}

// wasAsked reports whether the host of an attempt was asked a moment ago, and may still answer.
func (f *fetches) wasAsked(o *observation) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	of, was := f.asked[o.clusterKey()][o.attempt]
	return was && o.now.Sub(of.at) < answerTime
}

// awaitFetchTurn waits until the host of an attempt may be asked to fetch its image. A host that was asked continues.
func (r *Reconciler) awaitFetchTurn(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.asked() {
		return sequence.Done(), nil
	}
	if held := cmp.Or(o.stopped(), o.unordered()); held != nil {
		return await(pollSlots, held), nil
	}
	fetching, err := attempts.Fetching(ctx, r.Client, o.clusterKey())
	if err != nil {
		return sequence.Result{}, err
	}
	after, reserved := r.fetches.reserve(o, fetching)
	if reserved {
		return r.unlessStopped(ctx, o)
	}
	return await(after, infrav1.NewHold(infrav1.HoldPrefetchBusy, "Cluster/"+o.upgrade.Spec.ClusterName, fmt.Sprintf(
		"waiting for other hosts of Cluster %s to fetch their image: one until it is resolved, %d at a time after that", o.upgrade.Spec.ClusterName, clusterupgrade.MaxFetching))), nil
}

// unordered is the hold by an ElementalClusterUpgrade that is paused or cancelled, or was cancelled before: no further host is asked to fetch its image.
func (o *observation) unordered() *hold {
	if o.governing == nil {
		return o.heldOver()
	}
	return byUpgrade(clusterupgrade.StoppedByUser(o.governing), o.governing.Name)
}

// unlessStopped reads past the cache whether the rollout was stopped: an attempt whose host could not fetch the image records that before its place is free. So it
// does the digest of the cluster's upgrade, which another host may have resolved a moment ago.
func (r *Reconciler) unlessStopped(ctx context.Context, o *observation) (sequence.Result, error) {
	err := r.rolloutOf(ctx, o, r.APIReader)
	if err == nil && o.digest() == "" {
		err = r.readClusterDigest(ctx, o, r.APIReader)
	}
	held := o.stopped()
	if err != nil || held != nil {
		r.fetches.release(o)
	}
	return await(pollTurn, held), err
}

// awaitFetched waits for a host that fetches. Others fetch in the place of one that has stopped to report, or says that it cannot.
func (o *observation) awaitFetched(image string) sequence.Result {
	if why := o.hostReport().Message; why != "" {
		return o.awaitMended(image, why)
	}
	if seen := o.host.Status.Agent.LastSeen; seen.IsZero() || o.now.Sub(seen.Time) < fetchSilence {
		return sequence.Wait(pollHost, "ElementalHost %s is fetching %s", o.host.Name, image)
	}
	return await(pollHost, infrav1.NewHold(infrav1.HoldHostNotReporting, "ElementalHost/"+o.host.Name, fmt.Sprintf(
		"ElementalHost %s is fetching %s, and has reported nothing new for %s: is it on and connected, and does its elemental-agent run?", o.host.Name, image, fetchSilence)))
}

// awaitMended waits for a host that cannot fetch its image, and tries again. One whose node is out of service is not waited for without a bound: its rules may have changed
// after it had fetched the image.
func (o *observation) awaitMended(image, why string) sequence.Result {
	reason := infrav1.HoldImageNotFetched
	if o.hostReport().Digest == "" {
		reason = infrav1.HoldImageNotResolved
	}
	message := fmt.Sprintf("ElementalHost %s cannot fetch %s, and tries again: %s", o.host.Name, image, why)
	former := attempts.FirstHold(o.upgrade)
	if former != nil && former.Reason == reason && o.now.Sub(former.Since.Time) >= fetchSilence && attempts.HasEntered(o.upgrade, stepCordon) {
		return sequence.End(string(infrav1.UpgradeFailed), "%s. Its node was out of service for %s meanwhile", message, fetchSilence)
	}
	return await(pollHost, infrav1.NewHold(reason, "ElementalHost/"+o.host.Name, message))
}
