// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// Unsettled are the attempts of a Cluster that are not settled, see IsSettled, from the manager's cache. They must not be
// changed.
func Unsettled(ctx context.Context, cache client.Reader, cluster client.ObjectKey) ([]infrav1.ElementalHostUpgrade, error) {
	return list(ctx, cache, cluster, client.MatchingFields{byUnsettled: cluster.Name}, client.UnsafeDisableDeepCopy)
}

// OnElementalMachine are all attempts on an ElementalMachine, ended ones too, from the manager's cache. They must not be
// changed.
func OnElementalMachine(ctx context.Context, cache client.Reader, namespace, name string) ([]infrav1.ElementalHostUpgrade, error) {
	found := &infrav1.ElementalHostUpgradeList{}
	err := cache.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{byElementalMachine: name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing ElementalHostUpgrades of ElementalMachine %s: %w", name, err)
	}
	return found.Items, nil
}

// OfRollout is the newest attempt on a Machine in a rollout; nil if there is none. The reader is the manager's cache, or live.
func OfRollout(ctx context.Context, reader client.Reader, machine client.ObjectKey, rollout string) (*infrav1.ElementalHostUpgrade, error) {
	found := &infrav1.ElementalHostUpgradeList{}
	if err := reader.List(ctx, found, client.InNamespace(machine.Namespace), client.MatchingFields{ByMachine: machine.Name}); err != nil {
		return nil, fmt.Errorf("listing ElementalHostUpgrades of Machine %s: %w", machine.Name, err)
	}
	return NewestWhere(found.Items, func(attempt *infrav1.ElementalHostUpgrade) bool { return attempt.Spec.RolloutName == rollout }), nil
}

// OnHost are all attempts on an ElementalHost, ended ones too, from the manager's cache. They must not be changed.
func OnHost(ctx context.Context, cache client.Reader, namespace, name string) ([]infrav1.ElementalHostUpgrade, error) {
	found := &infrav1.ElementalHostUpgradeList{}
	err := cache.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{ByHost: name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing ElementalHostUpgrades of ElementalHost %s: %w", name, err)
	}
	return found.Items, nil
}

// Newest of some attempts; nil if there is none.
func Newest(among []infrav1.ElementalHostUpgrade) *infrav1.ElementalHostUpgrade {
	return NewestWhere(among, func(*infrav1.ElementalHostUpgrade) bool { return true })
}

// NewestWhere is the newest of those of some attempts that are chosen; nil if none is.
func NewestWhere(among []infrav1.ElementalHostUpgrade, isChosen func(*infrav1.ElementalHostUpgrade) bool) *infrav1.ElementalHostUpgrade {
	var newest *infrav1.ElementalHostUpgrade
	for i := range among {
		if isChosen(&among[i]) && (newest == nil || infrav1.OldestFirst(newest, &among[i]) < 0) {
			newest = &among[i]
		}
	}
	return newest
}

// LastAtWork is the newest of some attempts that has changed what its host runs, or has tried to; nil if there is none. One that ended before its host was
// triggered has not.
func LastAtWork(among []infrav1.ElementalHostUpgrade) *infrav1.ElementalHostUpgrade {
	return NewestWhere(among, func(attempt *infrav1.ElementalHostUpgrade) bool {
		phase := attempt.PhaseNow()
		return phase == infrav1.UpgradeSucceeded || phase == infrav1.UpgradeRolledBack || HasEntered(attempt, StepReboot)
	})
}

// LastUpdate is the newest of the attempts by which Cluster API has brought a Machine to an OS of a template, in whichever rollout; nil if there is none.
func LastUpdate(among []infrav1.ElementalHostUpgrade, template string, os infrav1.OSVersionManagement) *infrav1.ElementalHostUpgrade {
	return NewestWhere(among, func(attempt *infrav1.ElementalHostUpgrade) bool {
		return attempt.Spec.Driver == infrav1.DriverClusterAPI && attempt.Spec.TemplateName == template &&
			osversion.Same(attempt.Spec.OSVersionManagement, os)
	})
}

// OnNode are all attempts on a Node of a Cluster, ended ones too, from the manager's cache. They must not be changed.
func OnNode(ctx context.Context, cache client.Reader, cluster client.ObjectKey, node string) ([]infrav1.ElementalHostUpgrade, error) {
	return list(ctx, cache, cluster, client.MatchingFields{byNode: node}, client.UnsafeDisableDeepCopy)
}

// Unfinished are the attempts of a Cluster that have not ended, from the manager's cache. They must not be changed.
func Unfinished(ctx context.Context, cache client.Reader, cluster client.ObjectKey) ([]infrav1.ElementalHostUpgrade, error) {
	return list(ctx, cache, cluster, client.MatchingFields{byUnfinished: cluster.Name}, client.UnsafeDisableDeepCopy)
}

// UnfinishedNow are the attempts of a Cluster that have not ended, as the API server has them.
func UnfinishedNow(ctx context.Context, live client.Reader, cluster client.ObjectKey) ([]infrav1.ElementalHostUpgrade, error) {
	selectors := []fields.Selector{fields.OneTermEqualSelector(clusterField, cluster.Name)}
	for _, end := range infrav1.UpgradeEnds() {
		selectors = append(selectors, fields.OneTermNotEqualSelector(phaseField, string(end)))
	}
	found, err := list(ctx, live, cluster, client.MatchingFieldsSelector{Selector: fields.AndSelectors(selectors...)})
	return slices.DeleteFunc(found, func(u infrav1.ElementalHostUpgrade) bool { return u.PhaseNow().IsEnd() }), err
}

func list(ctx context.Context, from client.Reader, cluster client.ObjectKey, options ...client.ListOption) ([]infrav1.ElementalHostUpgrade, error) {
	found := &infrav1.ElementalHostUpgradeList{}
	if err := from.List(ctx, found, append(options, client.InNamespace(cluster.Namespace))...); err != nil {
		return nil, fmt.Errorf("listing ElementalHostUpgrades of Cluster %s: %w", cluster, err)
	}
	return slices.DeleteFunc(found.Items, func(u infrav1.ElementalHostUpgrade) bool { return u.Spec.ClusterName != cluster.Name }), nil
}
