// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// historyLimit is how many ended attempts are kept for each host.
const historyLimit = 10

// observeAttempts lists the other attempts on the host. It lists live: the hook may have made one that
// the cache has not heard of.
func (r *Reconciler) observeAttempts(ctx context.Context, o *observation) error {
	onHost := &infrav1.ElementalHostUpgradeList{}
	if err := r.APIReader.List(ctx, onHost, client.InNamespace(o.upgrade.Namespace),
		client.MatchingFields{attempts.ByHost: o.upgrade.Spec.HostName}); err != nil {
		return fmt.Errorf("listing attempts on ElementalHost %s: %w", o.upgrade.Spec.HostName, err)
	}
	o.attempts = slices.DeleteFunc(onHost.Items, func(u infrav1.ElementalHostUpgrade) bool { return u.UID == o.upgrade.UID })
	o.rival = rivalOf(o.upgrade, o.attempts, o.host)
	return nil
}

// rivalOf returns the unfinished attempt on the same host that goes first: the one that the host takes
// part in already, and else the oldest.
func rivalOf(upgrade *infrav1.ElementalHostUpgrade, others []infrav1.ElementalHostUpgrade, host *infrav1.ElementalHost) *infrav1.ElementalHostUpgrade {
	asked := ""
	if host != nil && host.Spec.Upgrade != nil {
		asked = host.Spec.Upgrade.Attempt
	}
	if asked == attemptOf(upgrade) {
		return nil
	}
	var first *infrav1.ElementalHostUpgrade
	for i := range others {
		other := &others[i]
		switch {
		case isEnded(other.PhaseNow()):
		case attemptOf(other) == asked:
			return other
		case older(other, upgrade) && (first == nil || older(other, first)):
			first = other
		}
	}
	return first
}

// older orders attempts by age, and those of the same second by name.
func older(a, b *infrav1.ElementalHostUpgrade) bool { return infrav1.OldestFirst(a, b) < 0 }

// unlessHistory reads the attempt from the cache; nil if it is gone, or is history: it has ended for good and has taken back
// what it asked of its host. A fleet has many of those, and they cost no live read.
func (r *Reconciler) unlessHistory(ctx context.Context, req ctrl.Request) (*infrav1.ElementalHostUpgrade, error) {
	upgrade, err := existing.Get(ctx, r.Client, &infrav1.ElementalHostUpgrade{}, req.Namespace, req.Name)
	if err != nil || upgrade == nil || !attempts.IsHistory(upgrade) {
		return upgrade, err
	}
	host, err := existing.Get(ctx, r.Client, &infrav1.ElementalHost{}, req.Namespace, upgrade.Spec.HostName)
	if err != nil {
		return nil, err
	}
	if host == nil || host.Spec.Upgrade == nil || host.Spec.Upgrade.Attempt != attemptOf(upgrade) {
		return nil, nil
	}
	return upgrade, nil
}

// prune deletes the oldest ended attempts on the host beyond the limit.
func (r *Reconciler) prune(ctx context.Context, o *observation) error {
	ended := slices.DeleteFunc(slices.Clone(o.attempts), func(u infrav1.ElementalHostUpgrade) bool {
		return !isEnded(u.PhaseNow())
	})
	if len(ended) <= historyLimit {
		return nil
	}
	slices.SortFunc(ended, func(a, b infrav1.ElementalHostUpgrade) int {
		if older(&a, &b) {
			return 1
		}
		return -1
	})
	for i := range ended[historyLimit:] {
		old := &ended[historyLimit+i]
		err := r.Client.Delete(ctx, old, client.Preconditions{UID: &old.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting ElementalHostUpgrade %s of the history: %w", old.Name, err)
		}
	}
	return nil
}
