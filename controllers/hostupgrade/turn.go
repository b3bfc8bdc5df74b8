// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// The attempts of a patched template exist for all Machines from the start. What is here says which of them may have their hosts fetch the image, and which may
// take a slot.

// stopped is the hold by another attempt of the rollout that has not ended well.
func (o *observation) stopped() *hold {
	isRanchers := o.upgrade.Spec.Driver == infrav1.DriverRancherDrain // which waits with the Node cordoned
	if isRanchers || o.rollout == nil || o.rollout.Spec.StoppedBy == "" || o.rollout.Spec.StoppedBy == o.upgrade.Name {
		return nil
	}
	by := o.rollout.Spec.StoppedBy
	return infrav1.NewHold(infrav1.HoldRolloutStopped, "ElementalHostUpgrade/"+by,
		fmt.Sprintf("ElementalHostUpgrade %s has not succeeded: see its message, and condition %s of ElementalMachineTemplate %s",
			by, infrav1.RolloutBlockedCondition, o.upgrade.Spec.TemplateName))
}

// stops reports whether an attempt that is about to end stops its rollout. Where Cluster API or Rancher brings Machines to an OS, these wait themselves.
func (o *observation) stops() bool {
	return o.upgrade.Spec.Driver == infrav1.DriverDirect && o.rollout != nil && o.rollout.Spec.StoppedBy == "" &&
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
	err := r.Client.Patch(ctx, o.rollout, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err := client.IgnoreNotFound(err); err != nil {
		return sequence.Result{}, fmt.Errorf("stopping ElementalRollout %s: %w", o.rollout.Name, err)
	}
	return sequence.Done(), nil
}

// readRollout reads the rollout past the cache: what stops or holds it may be of a moment ago.
func (r *Reconciler) readRollout(ctx context.Context, a *admission) error {
	return r.rolloutOf(ctx, a.observation, r.APIReader)
}

// notInTurn keeps a node from its slot while one that comes before it may take that. Rancher has an order of its own. The order is no matter of safety, so that
// the cache decides.
func (r *Reconciler) notInTurn(ctx context.Context, o *observation) (*hold, error) {
	if o.drain != nil {
		return nil, nil
	}
	before, err := attempts.Before(ctx, r.Client, o.upgrade, attempts.FirstHold(o.upgrade))
	if err != nil || before == nil {
		return nil, err
	}
	return infrav1.NewHold(infrav1.HoldNotInTurn, "Cluster/"+o.upgrade.Spec.ClusterName,
		"waiting for its turn in Cluster "+o.upgrade.Spec.ClusterName+": control plane nodes are upgraded first, and then nodes by their names"), nil
}

const (
	// answerTime is how long a host that was asked is counted as one that fetches before it answers.
	answerTime = 10 * time.Second
	// fetchSilence is for how long a host that fetches may report nothing new before others fetch in its place.
	fetchSilence = 5 * time.Minute
)

// fetches are the hosts that were asked to fetch an image and have not answered, by their Cluster and attempt, with when they were asked. It bounds how many are
// asked at a time. A manager that has just started knows of none, and asks a few more.
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
	cluster := o.clusterKey()
	asked := f.asked[cluster]
	for id, of := range asked {
		isFetching := slices.ContainsFunc(fetching, func(u infrav1.ElementalHostUpgrade) bool { return attemptOf(&u) == id })
		if isFetching || o.now.Sub(of.at) >= answerTime {
			delete(asked, id)
		}
	}
	delete(asked, o.attempt)
	after = pollTurn
	all, ofRollout := 0, 0
	count := func(rollout string) {
		all++
		if rollout == o.upgrade.Spec.RolloutName {
			ofRollout++
		}
	}
	for i := range fetching {
		if attemptOf(&fetching[i]) != o.attempt {
			count(fetching[i].Spec.RolloutName)
		}
	}
	for _, of := range asked {
		count(of.rollout)
		after = min(after, max(time.Second, answerTime-o.now.Sub(of.at)))
	}
	if all >= clusterupgrade.MaxFetching || o.digest() == "" && ofRollout > 0 {
		return after, false
	}
	if f.asked == nil {
		f.asked = map[client.ObjectKey]map[string]ask{}
	}
	if asked == nil {
		asked = map[string]ask{}
		f.asked[cluster] = asked
	}
	asked[o.attempt] = ask{rollout: o.upgrade.Spec.RolloutName, at: o.now}
	return 0, true
}

// wasAsked reports whether the host of an attempt was asked a moment ago, and may still answer.
func (f *fetches) wasAsked(o *observation) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	of, was := f.asked[o.clusterKey()][o.attempt]
	return was && o.now.Sub(of.at) < answerTime
}

// awaitFetchTurn waits until the host of an attempt may be asked to fetch its image. A host that was asked goes on, and one that is silent takes no place.
func (r *Reconciler) awaitFetchTurn(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.asked() {
		return sequence.Done(), nil
	}
	if held := o.stopped(); held != nil {
		return await(pollTurn, held), nil
	}
	fetching, err := attempts.Fetching(ctx, r.Client, o.clusterKey())
	if err != nil {
		return sequence.Result{}, err
	}
	after, reserved := r.fetches.reserve(o, fetching)
	if reserved {
		return sequence.Done(), nil
	}
	return await(after, infrav1.NewHold(infrav1.HoldPrefetchBusy, "Cluster/"+o.upgrade.Spec.ClusterName, fmt.Sprintf(
		"waiting for other hosts of Cluster %s to fetch their image: one until it is resolved, %d at a time after that", o.upgrade.Spec.ClusterName, clusterupgrade.MaxFetching))), nil
}

// awaitFetched waits for a host that fetches. Others fetch in the place of one that has gone silent.
func (o *observation) awaitFetched(image string) sequence.Result {
	if seen := o.host.Status.Agent.LastSeen; seen.IsZero() || o.now.Sub(seen.Time) < fetchSilence {
		return sequence.Wait(pollHost, "ElementalHost %s is fetching %s", o.host.Name, image)
	}
	return await(pollHost, infrav1.NewHold(infrav1.HoldHostNotReporting, "ElementalHost/"+o.host.Name, fmt.Sprintf(
		"ElementalHost %s is fetching %s, and has reported nothing new for %s: is it on and connected, and does its elemental-agent run?", o.host.Name, image, fetchSilence)))
}
