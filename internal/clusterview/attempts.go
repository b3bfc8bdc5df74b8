// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// history is all attempts of a Cluster, by what they are about, the newest first.
type history struct {
	ofMachine, ofElementalMachine map[string][]*infrav1.ElementalHostUpgrade
}

// AttemptsOfMachine are all attempts of the Cluster on a Machine of a name, ended ones too, the newest first.
func (v *View) AttemptsOfMachine(ctx context.Context, machine string) ([]*infrav1.ElementalHostUpgrade, error) {
	all, err := v.history(ctx)
	return all.ofMachine[machine], err
}

// NewestAttempt of the Cluster on an ElementalMachine of a name, which may have ended; nil if there is none.
func (v *View) NewestAttempt(ctx context.Context, elementalMachine string) (*infrav1.ElementalHostUpgrade, error) {
	all, err := v.history(ctx)
	if err != nil || len(all.ofElementalMachine[elementalMachine]) == 0 {
		return nil, err
	}
	return all.ofElementalMachine[elementalMachine][0], nil
}

// Unfinished are the attempts of the Cluster that have not ended, in no order.
func (v *View) Unfinished(ctx context.Context) ([]infrav1.ElementalHostUpgrade, error) {
	return attempts.Unfinished(ctx, v.reader, v.cluster)
}

// Attempt of a name, if it is one of the Cluster; nil otherwise.
func (v *View) Attempt(ctx context.Context, name string) (*infrav1.ElementalHostUpgrade, error) {
	found, err := existing.Get(ctx, v.reader, &infrav1.ElementalHostUpgrade{}, v.cluster.Namespace, name, client.UnsafeDisableDeepCopy)
	if err != nil || found == nil || found.Spec.ClusterName != v.cluster.Name {
		return nil, err
	}
	return found, nil
}

func (v *View) history(ctx context.Context) (history, error) {
	return v.attempts.get(func() (history, error) {
		all, err := attempts.OfCluster(ctx, v.reader, v.cluster)
		if err != nil {
			return history{}, err
		}
		found := history{ofMachine: map[string][]*infrav1.ElementalHostUpgrade{}, ofElementalMachine: map[string][]*infrav1.ElementalHostUpgrade{}}
		slices.SortFunc(all, func(a, b infrav1.ElementalHostUpgrade) int { return infrav1.OldestFirst(&b, &a) })
		for i := range all {
			machine, elemental := all[i].Spec.MachineName, all[i].Spec.ElementalMachineName
			found.ofMachine[machine] = append(found.ofMachine[machine], &all[i])
			found.ofElementalMachine[elemental] = append(found.ofElementalMachine[elemental], &all[i])
		}
		return found, nil
	})
}
